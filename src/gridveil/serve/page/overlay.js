/** The user's own GeoJSON above the map: read, drawn and kept in the browser only. */

import {toCells} from './frame.js';
import {view} from './map.js';
import {MOST_CORNERS} from './state.js';

const MOST_BYTES = 30e6;
const KINDS = {Point: 'point', LineString: 'line', Polygon: 'polygon'};

/** All single points, lines and polygons of a GeoJSON, however nested: [{kind, rings}]. */
export function shapes(given) {
  const each = (list) => (Array.isArray(list) ? list.flatMap(shapes) : []);
  if (!given || typeof given !== 'object') return [];
  const {type, coordinates} = given;
  if (type === 'FeatureCollection') return each(given.features);
  if (type === 'Feature') return shapes(given.geometry);
  if (type === 'GeometryCollection') return each(given.geometries);
  if (type?.startsWith?.('Multi') && Array.isArray(coordinates)) {
    return coordinates.flatMap((part) => shapes({type: type.slice(5), coordinates: part}));
  }
  const kind = KINDS[type];
  if (!kind || !Array.isArray(coordinates)) return [];
  const rings = {point: [[coordinates]], line: [coordinates], polygon: coordinates}[kind];
  const sound = rings.every((ring) => Array.isArray(ring) && ring.length && ring.every(isPoint));
  return sound ? [{kind, rings: rings.map((ring) => ring.map(([x, y]) => [x, y]))}] : [];
}

const isPoint = (point) => Array.isArray(point) && point.length >= 2 && point.slice(0, 2).every(Number.isFinite);

/** An open ring without its repeated last corner. */
const open = (ring) => (ring.length > 1 && String(ring[0]) === String(ring.at(-1)) ? ring.slice(0, -1) : ring);

/** Read a file's text as shapes on the map. What cannot be shown is refused with a sentence. */
export function read(text, facts) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('This file is not GeoJSON: it is not JSON at all.');
  }
  const found = shapes(given);
  if (!found.length) throw new Error('This file has no points, lines or polygons that can be drawn. GeoJSON is expected.');
  const placed = found.flatMap(({kind, rings}) =>
    rings.map((ring, n) => ({kind: kind === 'polygon' && n ? 'line' : kind, ring: open(ring), cells: ring.map((point) => toCells(facts, point))})));
  const {x, y} = facts.axes;
  const near = ([cx, cy]) => cx >= 0 && cx <= x.size && cy >= 0 && cy <= y.size;
  const around = ({cells}) => {
    const [xs, ys] = [0, 1].map((i) => cells.map((cell) => cell[i]));
    const spans = (list, size) => list.reduce((a, b) => Math.min(a, b)) <= size && list.reduce((a, b) => Math.max(a, b)) >= 0;
    return spans(xs, x.size) && spans(ys, y.size);
  };
  if (!placed.some((shape) => shape.cells.some(near) || around(shape))) {
    const expected = facts.lonlat ? 'longitude and latitude in degrees' : 'the same units as this map';
    throw new Error(`Nothing in this file lies on the map. Its coordinates must be ${expected}.`);
  }
  return placed;
}

export function mount(element, store) {
  const files = new Map();
  const input = Object.assign(document.createElement('input'), {type: 'file', id: 'own-file', accept: '.geojson,.json,application/geo+json', multiple: true});
  const pick = Object.assign(document.createElement('label'), {className: 'button', htmlFor: 'own-file', textContent: 'Lay your own GeoJSON over the map'});
  const list = document.createElement('ul');
  const said = Object.assign(document.createElement('p'), {className: 'said', hidden: true});
  said.setAttribute('role', 'status');
  list.setAttribute('aria-label', 'Your files on the map');
  element.append(input, pick, list, said);

  function say(sentence, bad = false) {
    said.textContent = sentence;
    said.hidden = !sentence;
    said.classList.toggle('bad', bad);
  }

  function refresh() {
    view.shapes = [...files.values()].flat();
    list.replaceChildren(...[...files.keys()].map((name) => {
      const item = document.createElement('li');
      const remove = Object.assign(document.createElement('button'), {type: 'button', textContent: '✕'});
      remove.setAttribute('aria-label', `Remove ${name}`);
      remove.addEventListener('click', () => {
        files.delete(name);
        say('');
        refresh();
        input.focus();
      });
      item.append(Object.assign(document.createElement('span'), {textContent: name}), remove);
      return item;
    }));
    list.hidden = !files.size;
    view.redraw();
  }

  async function add(chosen) {
    for (const file of chosen) {
      try {
        if (file.size > MOST_BYTES) throw new Error('This file is larger than 30 MB. Simplify it first.');
        const placed = read(await file.text(), store.release);
        files.set(file.name, placed);
        const borders = placed.filter(({kind}) => kind === 'polygon');
        const long = borders.some(({ring}) => ring.length > MOST_CORNERS);
        say(borders.length ? `Click inside a border to ask about it.${long ? ` Those with more than ${MOST_CORNERS} corners are drawn only.` : ''}` : 'It stays in your browser.');
      } catch (error) {
        say(`${file.name}: ${error.message}`, true);
      }
    }
    refresh();
  }

  input.addEventListener('change', async () => {
    await add([...input.files]);
    input.value = '';
  });
  const dropping = (on) => view.element.classList.toggle('dropping', on);
  view.element.addEventListener('dragover', (event) => {
    event.preventDefault();
    dropping(true);
  });
  view.element.addEventListener('dragleave', () => dropping(false));
  view.element.addEventListener('drop', (event) => {
    event.preventDefault();
    dropping(false);
    add([...event.dataTransfer.files]);
  });
  refresh();
}
