/** Where things are: pixels of the map, cells of the grid, coordinates of the world. */

/** Around the cells, for coordinates: pixels. */
export const MARGIN = {left: 60, right: 14, top: 8, bottom: 26};

/** How close, in maps, a point is found again; and after how many tries it counts as nowhere. */
const CLOSE = 1e-9;
const TRIES = 60;
/** Pieces that an edge as long as the map is cut into where straight lines on earth are bent on the map. */
const CUTS = 32;
const MOST_CUTS = 512;

const fitted = new WeakMap();
/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/**
 * The facts' lattice of longitudes and latitudes, or of the map's corners in its own units, and the way that the
 * world goes on beyond the map: change of both coordinates per width and height of the map.
 * @param {Facts} facts
 * @returns {Lattice}
 */
function lattice(facts) {
  if (!fitted.has(facts)) {
    const {lonlat, axes: {x, y}} = facts;
    /** @type {Point[][]} */
    const rows = lonlat ?? [y.start, y.end].map((north) => [[x.start, north], [x.end, north]]);
    const [sw, se, nw, ne] = [rows[0][0], rows[0].at(-1), rows.at(-1)[0], rows.at(-1).at(-1)];
    const across = [0, 1].map((i) => (se[i] - sw[i] + ne[i] - nw[i]) / 2);
    const up = [0, 1].map((i) => (nw[i] - sw[i] + ne[i] - se[i]) / 2);
    const area = across[0] * up[1] - across[1] * up[0];
    fitted.set(facts, {rows, across, up, area, bent: rows.length > 2 || rows[0].length > 2});
  }
  return fitted.get(facts);
}

/**
 * Where a share of the map's width and height is: in proportion between four points, straight on beyond the map.
 * @param {Lattice} lattice
 * @param {number} u
 * @param {number} v
 * @returns {Point}
 */
function worldAt({rows, across, up}, u, v) {
  const [inU, inV] = [clamp(u, 0, 1), clamp(v, 0, 1)];
  const [a, b] = [inU * (rows[0].length - 1), inV * (rows.length - 1)];
  const column = Math.min(Math.floor(a), rows[0].length - 2);
  const row = Math.min(Math.floor(b), rows.length - 2);
  const [low, high] = [rows[row], rows[row + 1]];
  const [s, t] = [a - column, b - row];
  const at = (i) => (1 - t) * ((1 - s) * low[column][i] + s * low[column + 1][i])
    + t * ((1 - s) * high[column][i] + s * high[column + 1][i])
    + (u - inU) * across[i] + (v - inV) * up[i];
  return [at(0), at(1)];
}

/**
 * Longitude and latitude where the grid has them, else the grid's own units, of a point given in cells.
 * @param {Facts} facts
 * @param {Point} cell
 * @returns {Point}
 */
export function toWorld(facts, [x, y]) {
  return worldAt(lattice(facts), x / facts.axes.x.size, y / facts.axes.y.size);
}

/**
 * The opposite: a point in cells, perhaps outside the grid. Each try goes as far as the map's sides say; on a map that
 * is no larger than a country a few suffice, and one where it is north up.
 * @param {Facts} facts
 * @param {Point} world
 * @returns {Point}
 */
export function toCells(facts, [east, north]) {
  const known = lattice(facts);
  const {across, up, area} = known;
  let [u, v] = [0.5, 0.5];
  for (let tries = 0; tries < TRIES; tries++) {
    const here = worldAt(known, u, v);
    const [de, dn] = [east - here[0], north - here[1]];
    const [du, dv] = [(de * up[1] - dn * up[0]) / area, (dn * across[0] - de * across[1]) / area];
    u += du;
    v += dv;
    const far = Math.abs(u) + Math.abs(v) + 1;
    if (Math.abs(du) + Math.abs(dv) < CLOSE * far) return [u * facts.axes.x.size, v * facts.axes.y.size];
  }
  return [NaN, NaN];
}

/**
 * A ring of corners in cells, its edges straight in longitude and latitude as the server takes them.
 * @param {Facts} facts
 * @param {Ring} ring
 * @param {boolean} [closed]
 * @returns {Ring}
 */
export function ringCells(facts, ring, closed = true) {
  const corners = ring.map((corner) => toCells(facts, corner));
  if (!lattice(facts).bent) return corners;
  const {x, y} = facts.axes;
  return corners.flatMap((from, n) => {
    const next = n + 1 < ring.length ? n + 1 : 0;
    if (!next && !closed) return [from];
    const to = corners[next];
    const length = Math.hypot((to[0] - from[0]) / x.size, (to[1] - from[1]) / y.size);
    const cuts = clamp(Math.ceil(CUTS * length), 1, MOST_CUTS) || 1;
    const along = (share, i) => ring[n][i] + share * (ring[next][i] - ring[n][i]);
    /** @returns {Point} */
    const between = (share) => [along(share, 0), along(share, 1)];
    return Array.from({length: cuts}, (_, cut) => (cut ? toCells(facts, between(cut / cuts)) : from));
  });
}

/**
 * West, east, south and north of the map, in longitude and latitude where it has them.
 * @param {Facts} facts
 */
export function limits(facts) {
  const points = lattice(facts).rows.flat();
  return [0, 1].flatMap((i) => [Math.min, Math.max].map((pick) => pick(...points.map((point) => point[i]))));
}

/**
 * At which share of the map's lower (axis 0) or left (axis 1) side a longitude or latitude is.
 * @param {Facts} facts
 * @param {number} value
 * @param {0 | 1} axis
 */
export function shareAt(facts, value, axis) {
  const known = lattice(facts);
  const at = (share) => (axis ? worldAt(known, 0, share) : worldAt(known, share, 0))[axis];
  const rising = at(1) > at(0);
  let [low, high] = [0, 1];
  for (let halves = 0; halves < 40; halves++) {
    const middle = (low + high) / 2;
    if (at(middle) < value === rising) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Round numbers between two ends, about `count` of them.
 * @param {number} from
 * @param {number} to
 * @param {number} [count]
 */
export function ticks(from, to, count = 5) {
  const rough = Math.abs(to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * power >= rough * 0.999) * power;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const [low, high] = from < to ? [from, to] : [to, from];
  const values = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) values.push(n * step);
  return {values, decimals};
}

/**
 * The largest round length that fits, for the scale bar.
 * @param {number} most
 */
export function roundLength(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].find((times) => times * power <= most) * power;
}

/**
 * A map of the grid in so many pixels: as wide as there is room, no higher than `most`, cells in their true shape.
 * @param {Facts} facts
 * @param {number} width
 * @param {number} most
 * @returns {Frame}
 */
export function frame(facts, width, most) {
  const {x, y} = facts.axes;
  const [cellWidth, cellHeight] = facts.cell_metres ?? [(x.end - x.start) / x.size, (y.end - y.start) / y.size];
  const ratio = Math.abs((x.size * cellWidth) / (y.size * cellHeight)) || 1;
  const room = Math.max(width - MARGIN.left - MARGIN.right, 40);
  const w = Math.round(Math.min(room, most * ratio));
  const h = Math.max(Math.round(w / ratio), 24);
  const left = MARGIN.left + Math.round((room - w) / 2);
  const box = {x: left, y: MARGIN.top, w, h};
  return {
    facts,
    box,
    nx: x.size,
    ny: y.size,
    width,
    height: MARGIN.top + h + MARGIN.bottom,
    /** Cells to pixels. */
    pixel: ([cx, cy]) => [box.x + (cx / x.size) * w, box.y + (1 - cy / y.size) * h],
    /** Pixels to cells, not rounded. */
    point: ([px, py]) => [((px - box.x) / w) * x.size, (1 - (py - box.y) / h) * y.size],
  };
}
