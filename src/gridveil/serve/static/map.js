/** The map: asks for the slice of the shown time, draws it, and says what is below the pointer. */

import {isUncertain, palette} from './colour.js';
import {make} from './dom.js';
import {MARGIN, frame, toWorld} from './frame.js';
import {legend} from './legend.js';
import {hatching, paint, pictures} from './paint.js';
import {per} from './panel.js';
import {amount, degrees, duration, figure, interval} from './words.js';

const NAME = 'Map of electricity use';
const KEYS =
  'Arrow keys move from cell to cell. Shift and arrow keys mark a rectangle, Enter asks about it, Escape clears.';
/** The map is at least so many pixels high and has this share of the window; so much is free below the clock. */
const [LEAST, SHARE, EDGE] = [240, 0.44, 14];
const dark = matchMedia('(prefers-color-scheme: dark)');

/** What the map shows beside the state; pick, overlay and save read and change it, then call redraw. */
export const view = {
  element: null, canvas: null, frame: null, slice: null, layers: null,
  /** A rectangle {x, y} or a line {corners} that is being drawn. */
  draft: null,
  /** The cell below the pointer or the keyboard's cursor. */
  cell: null,
  /** Shapes of the user's own files: {kind, rings and box (in cells), name, area (of polygons)}. */
  shapes: [],
  redraw() {},
};

/**
 * The page's colours, as canvases need them.
 * @returns {Theme}
 */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const names = ['paper', 'ink', 'quiet', 'line', 'edge', 'card', 'released', 'other'];
  const values = names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]);
  return /** @type {Theme} */ (Object.fromEntries(values));
}

/**
 * The areas to outline: A and, where two different ones are compared, B.
 * @param {View} state
 * @param {Theme} colours
 * @returns {MarkedArea[]}
 */
export function areas({area, other}, colours) {
  const two = other?.area && JSON.stringify(other.area) !== JSON.stringify(area);
  const a = area && {area, name: two ? 'A' : '', colour: colours.released};
  const b = two && {area: other.area, name: 'B', colour: colours.other, dash: [9, 4]};
  return [b, a].filter(Boolean);
}

/**
 * Everything `paint` needs of the present view, in a frame and at a density of its own (a picture's, say).
 * @param {Store} store
 * @param {Frame} at
 * @param {number} ratio
 * @returns {Scene}
 */
export function scene(store, at, ratio) {
  const {slice, shapes} = view;
  const {colours, uncertain} = pictures(slice, store.release.scale.top, palette(dark.matches));
  const hatched = hatching(uncertain, at, ratio);
  return {frame: at, layers: {colours, hatched}, areas: areas(store.get(), theme()), shapes, draft: null, cell: null};
}

/**
 * What the slice says of one cell: an answer as the server gives it.
 * @param {Slice} slice
 * @param {Point} cell
 * @returns {Answer}
 */
export function reading({value, error, low, high, nx}, [x, y]) {
  const at = y * nx + x;
  return {value: value[at], standard_error: error[at], low: low[at], high: high[at]};
}

/**
 * Lines about a cell, the most important first.
 * @param {Store} store
 * @param {Point} cell
 */
export function describe(store, cell) {
  const facts = store.release;
  const answer = reading(view.slice, cell);
  const steps = view.slice.time[1] - view.slice.time[0];
  const {value, unit: energy} = figure(per(answer, steps));
  return {
    amount: amount(answer),
    interval: interval(answer),
    doubt: isUncertain(answer.value, answer.low, answer.high) ? 'The interval is wider than the value.' : '',
    average: steps > 1 ? `${value} ${energy} per ${duration(facts.axes.time.step_seconds)} on average` : '',
    where: `Cell x ${cell[0]}, y ${cell[1]}${facts.lonlat ? ` (${middle(facts, cell)})` : ''}`,
  };
}

/**
 * @param {Facts} facts
 * @param {Point} cell
 */
function middle(facts, [x, y]) {
  const [east, north] = toWorld(facts, [x + 0.5, y + 0.5]);
  return `${degrees(north, 'SN', 4)}, ${degrees(east, 'WE', 4)}`;
}

/**
 * Show the tooltip beside a cell, on the side where there is room, with the name of the border there; or hide it.
 * @param {Store} store
 * @param {Point | null} cell
 * @param {string} [border]
 */
export function tip(store, cell, border = '') {
  const element = view.element.querySelector('.tip');
  element.hidden = !cell || !view.slice;
  if (element.hidden) return;
  const said = describe(store, cell);
  const quiet = [said.average, said.where].filter(Boolean).map((text) => make('span', {class: 'quiet'}, text));
  const plain = [said.interval, said.doubt].filter(Boolean).map((text) => make('span', {}, text));
  const named = border && make('span', {class: 'border'}, `in ${border}`);
  element.replaceChildren(...[make('b', {}, said.amount), ...plain, ...quiet, named].filter(Boolean));
  const {box: {w, h}, nx, ny, pixel, width} = view.frame;
  const [x, y] = pixel([cell[0] + 0.5, cell[1] + 0.5]);
  const [aside, over] = [w / nx / 2 + 14, h / ny / 2 + 12];  // the cell and its corners stay in sight
  const beside = x + aside + element.offsetWidth <= width ? x + aside : x - aside - element.offsetWidth;
  const left = Math.min(Math.max(beside, 0), Math.max(width - element.offsetWidth, 0));
  const above = y - element.offsetHeight - over;
  element.style.transform = `translate(${left}px, ${above > 0 ? above : y + over}px)`;
}

/**
 * Say it to a screen reader.
 * @param {string} sentence
 */
export function say(sentence) {
  view.element.querySelector('[aria-live]').textContent = sentence;
}

/** @type {Mount} */
export function mount(element, store, api) {
  const canvas = make('canvas', {tabindex: 0, role: 'application', 'aria-label': NAME, 'aria-describedby': 'map-keys'});
  const keys = make('p', {class: 'sr', id: 'map-keys'}, KEYS);
  const live = make('p', {class: 'sr', 'aria-live': 'polite'});
  const bubble = make('div', {class: 'tip', hidden: true});
  element.append(canvas, bubble, keys, live);
  Object.assign(view, {element, canvas});
  const clock = document.getElementById('clock');
  let due = 0;
  let wanted = null;
  let busy = false;

  function draw() {
    due = 0;
    const {width, height} = view.frame;
    const ratio = devicePixelRatio;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (String(size) !== String([canvas.width, canvas.height])) [canvas.width, canvas.height] = size;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext('2d');
    ctx.setTransform(size[0] / width, 0, 0, size[1] / height, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const colours = theme();
    paint(ctx, {...view, areas: areas(store.get(), colours)}, colours);
  }

  view.redraw = () => {
    if (!due && view.frame) due = requestAnimationFrame(draw);
  };

  function layer() {
    if (!view.slice || !view.frame) return;
    const {colours, uncertain} = pictures(view.slice, store.release.scale.top, palette(dark.matches));
    view.layers = {colours, hatched: hatching(uncertain, view.frame, devicePixelRatio)};
    view.redraw();
  }

  /** How high the map may be: up to where the clock below it goes out of sight, but never small. */
  function highest() {
    const [head, foot] = [element.getBoundingClientRect(), clock.getBoundingClientRect()];
    const room = innerHeight - (head.top + scrollY) - (foot.bottom - head.bottom) - EDGE;
    return Math.max(LEAST, SHARE * innerHeight, room - MARGIN.top - MARGIN.bottom);
  }

  function measure() {
    const width = element.clientWidth;
    if (!width) return;
    legend(document.getElementById('legend'), store.release, dark.matches);
    view.frame = frame(store.release, width, highest());
    layer();
    view.redraw();
  }

  /** Show a time; while one is asked for, only the latest wish is kept, so that scrubbing never piles up questions. */
  async function show(time) {
    wanted = time;
    if (busy) return;
    busy = true;
    element.classList.add('waiting');
    while (wanted) {
      const asked = wanted;
      wanted = null;
      try {
        view.slice = await api.slice(asked);
        layer();
        if (!bubble.hidden) tip(store, view.cell);
        element.dataset.time = asked.join(':');
      } catch (error) {
        if (error.status) say(error.message);  // a server that is gone is said at the top of the page
      }
    }
    busy = false;
    element.classList.remove('waiting');
  }

  store.subscribe((state, previous) => {
    if (String(state.time) !== String(previous.time)) show(state.time);
    view.redraw();
  });
  dark.addEventListener('change', measure);
  const sizes = new ResizeObserver(measure);
  for (const each of [element, clock, document.querySelector('.top')]) sizes.observe(each);
  addEventListener('resize', measure);
  measure();
  show(store.get().time);
}
