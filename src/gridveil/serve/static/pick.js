/** Marking an area: by pointer or by keyboard, a rectangle of cells or a polygon. */

import {icon, make} from './dom.js';
import {toCells, toWorld} from './frame.js';
import {describe, say, tip, view} from './map.js';
import {MOST_CORNERS, corners} from './state.js';
import {number, place} from './words.js';

const CLOSE = 12;
const MODES = {rectangle: ['Rectangle', 'M2 4h12v8H2z'], polygon: ['Polygon', 'M8 1.5 14.5 6 12 14H4L1.5 6z']};
const HINTS = {
  rectangle: 'Drag on the map to mark an area',
  polygon: 'Click the corners; double click or Enter closes',
  none: 'Tap a cell to read it, or mark an area',
};

/** The cell at a point given in cells, or null outside the grid. */
export function cellAt([x, y], {nx, ny}) {
  const cell = [Math.floor(x), Math.floor(y)];
  return cell[0] >= 0 && cell[0] < nx && cell[1] >= 0 && cell[1] < ny ? cell : null;
}

/** The nearest cell of the grid. */
export const nearest = ([x, y], {nx, ny}) =>
  [[x, nx], [y, ny]].map(([at, size]) => Math.min(Math.max(Math.floor(at), 0), size - 1));

/** The rectangle between two cells, both included. */
export const between = (one, other) => ({
  x: [Math.min(one[0], other[0]), Math.max(one[0], other[0]) + 1],
  y: [Math.min(one[1], other[1]), Math.max(one[1], other[1]) + 1],
});

/** The cell next to one, by an arrow key; the map's edge holds. */
export function step([x, y], key, {nx, ny}) {
  const [dx, dy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[key];
  return nearest([x + dx, y + dy], {nx, ny});
}

/** Whether a point lies inside rings: a hole is outside (even-odd rule). */
export function inside([x, y], rings) {
  let within = false;
  for (const ring of rings) {
    ring.forEach(([xi, yi], n) => {
      const [xj, yj] = ring.at(n - 1);
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
    });
  }
  return within;
}

/** The uppermost of the user's own borders around a point. */
export const borderAt = ([x, y], shapes) => shapes.findLast(({area, box, rings}) =>
  area && x >= box[0][0] && x <= box[0][1] && y >= box[1][0] && y <= box[1][1] && inside([x, y], rings));

/** Why a border cannot be asked about. */
export const tooLong = (count) =>
  `This border has ${number(count)} corners and is only drawn: up to ${number(MOST_CORNERS)} can be asked about. ` +
  'Simplify it, and load it again.';

/** @type {Mount} */
export function mount(element, store) {
  const {canvas} = view;
  const touch = matchMedia('(pointer: coarse)').matches;
  const hint = document.getElementById('where-hint');
  let mode = touch ? null : 'rectangle';
  let start = null;
  let anchor = null;
  let dragged = false;
  let byKeys = false;
  let done = null;

  const modes = Object.entries(MODES).map(([name, [text, path]]) => {
    const press = () => choose(touch && mode === name ? null : name);
    return make('button', {type: 'button', 'data-mode': name, onclick: press}, icon(path), text);
  });
  const finish = make('button', {type: 'button', class: 'finish', onclick: close}, 'Close the polygon');
  const clear = make('button', {type: 'button', onclick: () => settle(null)}, 'Clear');
  element.append(...modes, clear);
  view.element.append(finish); // on the map: beside the other buttons it would push the map away below the pointer

  function choose(name) {
    mode = name;
    cancel();
  }

  function refresh() {
    for (const each of modes) each.setAttribute('aria-pressed', String(mode === each.dataset.mode));
    finish.hidden = !(view.draft?.corners?.length > 3);
    clear.disabled = !store.get().area && !view.draft;
    view.element.classList.toggle('marking', mode !== null);
    hint.textContent = touch && mode === 'rectangle' ? 'Drag on the map; scroll beside it' : HINTS[mode ?? 'none'];
    view.redraw();
  }

  function cancel() {
    start = anchor = view.draft = null;
    refresh();
  }

  /** Set the area; a finger gets the page's scrolling back. */
  function settle(area) {
    if (touch) mode = null;
    cancel();
    done = view.cell;
    tip(store, null);
    store.set({area});
    say(area ? `Marked: ${place(area)}.` : 'The whole map.');
  }

  const pixels = (event) => [event.offsetX, event.offsetY];
  const points = (event) => view.frame.point(pixels(event));

  /** Point at a cell. What was just marked is not covered: its cell is described when the pointer comes back to it. */
  function look(cell, border = null) {
    if (String(cell) !== String(done)) done = null;
    view.cell = cell;
    tip(store, view.draft || done ? null : cell, border?.name);
    view.redraw();
  }

  /** Say why nothing is marked, to the eye too, until something else is done. */
  function refuse(sentence) {
    say(sentence);
    hint.textContent = sentence;
  }

  /** A click: the user's own border below it, or else the cell. */
  function click(event) {
    const at = points(event);
    const cell = cellAt(at, view.frame);
    const border = borderAt(at, view.shapes);
    if (border && corners(border.area) > MOST_CORNERS) refuse(tooLong(corners(border.area)));
    else if (border) settle(border.area);
    else if (cell && mode === 'rectangle') settle(between(cell, cell));
    else look(cell);
  }

  function corner(event) {
    const {facts, pixel, point} = view.frame;
    const set = view.draft?.corners.slice(0, -1) ?? [];
    const here = pixels(event);
    const first = set.length && pixel(toCells(facts, set[0]));
    if (set.length > 2 && Math.hypot(here[0] - first[0], here[1] - first[1]) < CLOSE) return close();
    if (set.length >= MOST_CORNERS) return undefined;
    const world = toWorld(facts, point(here));
    view.draft = {corners: [...set, world, world]};
    return refresh();
  }

  /** Close the polygon; a double click has set its last corner twice. */
  function close() {
    const set = (view.draft?.corners ?? []).slice(0, -1);
    const ring = set.filter((each, n) => !n || String(each) !== String(set[n - 1]));
    if (ring.length > 2) settle({polygons: [[ring]]});
    canvas.focus({preventScroll: true});
  }

  canvas.addEventListener('pointerdown', (event) => {
    dragged = false;
    if (event.button || !view.frame || (event.pointerType === 'touch' && !mode)) return;
    if (mode === 'polygon') return;
    start = {cell: nearest(points(event), view.frame), at: pixels(event), moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!view.frame) return;
    byKeys = false;
    const at = points(event);
    if (start) {
      const [x, y] = pixels(event);
      start.moved ||= Math.hypot(x - start.at[0], y - start.at[1]) > 4;
      if (start.moved) view.draft = between(start.cell, nearest(at, view.frame));
    } else if (view.draft?.corners) {
      view.draft.corners.splice(-1, 1, toWorld(view.frame.facts, at));
    }
    look(start?.moved ? null : cellAt(at, view.frame), borderAt(at, view.shapes));
  });
  canvas.addEventListener('pointerup', (event) => {
    if (!start) return;
    dragged = start.moved;
    if (dragged) {
      view.cell = nearest(points(event), view.frame);
      settle(view.draft);
    }
    start = null;
  });
  canvas.addEventListener('pointercancel', () => {
    if (start) cancel();
  });
  canvas.addEventListener('click', (event) => {
    if (!view.frame || dragged) return;
    if (mode !== 'polygon') click(event);
    else if (event.detail === 1) corner(event);
  });
  canvas.addEventListener('dblclick', () => mode === 'polygon' && close());
  canvas.addEventListener('pointerleave', ({pointerType}) => {
    if (pointerType !== 'touch' && !byKeys) look(null);
  });
  canvas.addEventListener('blur', () => look(null));

  canvas.addEventListener('keydown', (event) => {
    if (!view.slice) return;
    byKeys = true;
    const {frame} = view;
    const here = view.cell ?? nearest([frame.nx / 2, frame.ny / 2], frame);
    if (event.key.startsWith('Arrow')) {
      const next = view.cell ? step(here, event.key, frame) : here;
      anchor = event.shiftKey ? (anchor ?? here) : null;
      if (!view.draft?.corners) view.draft = anchor && between(anchor, next);
      look(next);
      const said = describe(store, next);
      const aloud = `${said.where}: ${said.amount}, ${said.interval}. ${said.doubt}`;
      say(anchor && view.draft?.x ? `${place(view.draft)}. Enter asks about them.` : aloud);
      refresh();
    } else if (event.key === 'Enter') {
      if (mode === 'polygon' && view.draft?.corners) close();
      else settle(view.draft ?? between(here, here));
    } else if (event.key === ' ' && mode === 'polygon') {
      const world = toWorld(frame.facts, [here[0] + 0.5, here[1] + 0.5]);
      view.draft = {corners: [...(view.draft?.corners.slice(0, -1) ?? []), world, world]};
      refresh();
    } else if (event.key === 'Escape') {
      dragged = start !== null;
      if (view.draft) cancel();
      else settle(null);
    } else return;
    event.preventDefault();
  });

  store.subscribe(refresh);
  refresh();
}
