/** Consumption as colour: one fixed square-root scale for all times, even in lightness, for the colour-blind too. */

/** The magma palette at 16 even steps (matplotlib's, CC0), dark to light; its yellow end paler, nearer to the page. */
const STOPS = [
  '000004', '0b0924', '20114b', '3b0f70', '57157e', '721f81', '8c2981', 'a8327d',
  'c43c75', 'de4968', 'f1605d', 'fa7f5e', 'fe9f6d', 'febf84', 'fddfb2', 'fdf8ee',
];
const LEVELS = 256;
/** The blackest part is left out: on paper it looks like a hole, on a dark page it is one. */
const DARKEST = 0.07;

/**
 * 256 colours from no consumption to the top of the scale; more consumption stands out from the page.
 * @param {boolean} dark
 * @returns {number[][]}
 */
export function palette(dark) {
  const stops = STOPS.map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({length: LEVELS}, (_, level) => {
    const share = level / (LEVELS - 1);
    const at = (DARKEST + (1 - DARKEST) * (dark ? share : 1 - share)) * (stops.length - 1);
    const below = Math.min(Math.floor(at), stops.length - 2);
    return stops[below].map((low, channel) => Math.round(low + (at - below) * (stops[below + 1][channel] - low)));
  });
}

/**
 * Where on the scale, 0 to 1, a cell with this many kWh per step is: by square root, and never off the scale.
 * @param {number} perStep
 * @param {number} top
 */
export const position = (perStep, top) => (top > 0 ? Math.sqrt(Math.min(Math.max(perStep / top, 0), 1)) : 0);

/**
 * Whether a value says little: its 95 % interval is wider than the value itself.
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export const isUncertain = (value, low, high) => high - low > Math.abs(value);

/**
 * Round numbers to write below the scale, far enough apart to be read.
 * @param {number} top
 * @param {number} [room]
 * @param {number} [last]
 */
export function marks(top, room = 0.12, last = 0.46) {
  if (!(top > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(top));
  const round = [0.1, 0.2, 0.5, 1, 2, 5].map((times) => times * power).filter((value) => value < top);
  const kept = [0];
  for (const value of round) {
    const clear = position(value, top) - position(kept.at(-1), top) >= room && 1 - position(value, top) >= last;
    if (clear) kept.push(value);
  }
  return [...kept, top];
}

/**
 * Colour a slice, north up, and mark what is uncertain.
 * @returns {Record<'colours' | 'uncertain', Uint8ClampedArray<ArrayBuffer>>} RGBA, row by row from the north-west cell
 * @param {Slice} slice
 * @param {number} steps
 * @param {number} top
 * @param {number[][]} colours
 */
export function colourise({nx, ny, value, low, high}, steps, top, colours) {
  const painted = new Uint32Array(nx * ny);
  const uncertain = new Uint32Array(nx * ny);
  const packed = Uint32Array.from(colours, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  const last = packed.length - 1;
  const full = steps * top;
  for (let row = 0; row < ny; row++) {
    const from = (ny - 1 - row) * nx;
    for (let x = 0; x < nx; x++) {
      const cell = from + x;
      painted[row * nx + x] = packed[Math.round(position(value[cell], full) * last)];
      if (isUncertain(value[cell], low[cell], high[cell])) uncertain[row * nx + x] = 0xff000000;
    }
  }
  return {colours: new Uint8ClampedArray(painted.buffer), uncertain: new Uint8ClampedArray(uncertain.buffer)};
}
