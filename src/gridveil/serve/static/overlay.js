/** The user's own GeoJSON above the map: read, drawn and kept in the browser only. */

import {make} from './dom.js';
import {ringCells} from './frame.js';
import {view} from './map.js';
import {MOST_CORNERS, corners, tidyName} from './state.js';
import {number} from './words.js';

const MOST_BYTES = 30e6;
const EMPTY = 'This file has no points, lines or polygons that can be drawn. GeoJSON is expected.';
const CONVERT = 'Convert it first: ogr2ogr -t_srs EPSG:4326 new.geojson old.geojson';
const STREETS =
  'The map has no streets of its own, for it loads nothing from elsewhere: lay roads or borders over it.';
const KINDS = {Point: 'point', LineString: 'line', Polygon: 'polygon'};

/** What a feature is called: its name, else its id, else the first text that it has. */
export function nameOf({properties, id}) {
  const given = properties && typeof properties === 'object' ? Object.entries(properties) : [];
  const called = (wanted) => given.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const candidates = [called('name'), id, called('id'), given.find(([, value]) => typeof value === 'string')?.[1]];
  return candidates.filter((value) => ['string', 'number'].includes(typeof value)).map(tidyName).find(Boolean) ?? '';
}

/** All points, lines and areas of a GeoJSON, however nested: [{kind, parts: lists of rings, name}]. */
export function shapes(given, name = '') {
  const each = (list) => (Array.isArray(list) ? list.flatMap((item) => shapes(item, name)) : []);
  if (!given || typeof given !== 'object') return [];
  const {type, coordinates} = given;
  if (type === 'FeatureCollection') return each(given.features);
  if (type === 'Feature') return shapes(given.geometry, nameOf(given));
  if (type === 'GeometryCollection') return each(given.geometries);
  const many = type?.startsWith?.('Multi');
  const kind = KINDS[many ? type.slice(5) : type];
  if (!kind || !Array.isArray(coordinates)) return [];
  const rings = (part) => ({point: [[part]], line: [part], polygon: part})[kind];
  const parts = (many ? coordinates : [coordinates]).map(rings).filter(sound).map((part) => part.map(plane));
  if (kind === 'polygon') return parts.length ? [{kind, parts, name}] : [];  // a district may have several parts
  return parts.map((part) => ({kind, parts: [part], name}));
}

const sound = (rings) => Array.isArray(rings) && rings.length &&
  rings.every((ring) => Array.isArray(ring) && ring.length && ring.every(isPoint));

/** Points without heights. */
const plane = (ring) => ring.map(([x, y]) => [x, y]);

const isPoint = (point) => Array.isArray(point) && point.length >= 2 && point.slice(0, 2).every(Number.isFinite);

/** An open ring without its repeated last corner. */
const open = (ring) => (ring.length > 1 && String(ring[0]) === String(ring.at(-1)) ? ring.slice(0, -1) : ring);

/** The box around a shape, in cells: [[least x, most x], [least y, most y]]. */
const boxOf = (rings) => [0, 1].map((axis) => {
  const at = rings.flat().map((cell) => cell[axis]).filter(Number.isFinite);
  return [Math.min, Math.max].map((end) => at.reduce((a, b) => end(a, b), at[0]));
});

/** Whether any part of a shape may lie on the map: its box and the grid's overlap. */
export const near = ({box}, {x, y}) =>
  [x.size, y.size].every((size, axis) => box[axis][0] <= size && box[axis][1] >= 0);

/** Refuse coordinates that are not longitude and latitude, where the map has them: they would be nowhere. */
function checkSystem(given, found) {
  const system = given?.crs?.properties?.name;
  const other = typeof system === 'string' && !/(CRS84|EPSG:(?:[\d.]*:)?4326)$/i.test(system);
  const points = found.flatMap(({parts}) => parts.flat(2));
  if (!other && points.every(([lon, lat]) => Math.abs(lon) <= 180 && Math.abs(lat) <= 90)) return;
  const which = other ? ` (${tidyName(system)})` : '';
  throw new Error(`Its coordinates are in another system${which}, not longitude and latitude. ${CONVERT}`);
}

/** Read a file's text as shapes on the map. What cannot be shown is refused with a sentence. */
export function read(text, facts) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('This file is not GeoJSON: it is not JSON at all.');
  }
  const found = shapes(given);
  if (!found.length) throw new Error(EMPTY);
  if (facts.lonlat) checkSystem(given, found);
  const placed = found.map(({kind, parts, name}) => {
    const closed = kind === 'polygon';
    const polygons = closed ? parts.map((part) => part.map(open)) : parts;
    const rings = polygons.flat().map((ring) => ringCells(facts, ring, closed));
    return {kind, rings, name, box: boxOf(rings), area: closed ? {polygons, ...(name && {name})} : null};
  });
  if (!placed.some((shape) => near(shape, facts.axes))) {
    const expected = facts.lonlat ? 'longitude and latitude in degrees' : 'the same units as this map';
    throw new Error(`Nothing in this file lies on the map. Its coordinates must be ${expected}.`);
  }
  return placed;
}

/** What to say of a file that is on the map. */
function welcome(placed) {
  const borders = placed.filter(({kind}) => kind === 'polygon');
  if (!borders.length) return 'It stays in your browser.';
  const long = borders.some(({area}) => corners(area) > MOST_CORNERS);
  const limit = long ? ` Those with more than ${number(MOST_CORNERS)} corners are only drawn.` : '';
  return `Click inside a border to ask about it; “My areas” lists all of them.${limit}`;
}

/** @type {Mount} */
export function mount(element, store) {
  const files = new Map();
  const accept = '.geojson,.json,application/geo+json';
  const input = make('input', {type: 'file', id: 'own-file', accept, multiple: true});
  const pick = make('label', {class: 'button', for: 'own-file'}, 'Lay your own GeoJSON over the map');
  const list = make('ul', {'aria-label': 'Your files on the map'});
  const said = make('p', {class: 'said', role: 'status', hidden: true});
  const hint = make('p', {class: 'hint'}, STREETS);
  element.append(input, pick, hint, list, said);

  function say(sentence, bad = false) {
    said.textContent = sentence;
    said.hidden = !sentence;
    said.classList.toggle('bad', bad);
  }

  function refresh() {
    view.shapes = [...files.values()].flat();
    list.replaceChildren(...[...files.keys()].map((name) => {
      const remove = () => {
        files.delete(name);
        say('');
        refresh();
        input.focus();
      };
      const button = make('button', {type: 'button', 'aria-label': `Remove ${name}`, onclick: remove}, '✕');
      return make('li', {}, make('span', {}, name), button);
    }));
    list.hidden = !files.size;
    hint.hidden = Boolean(files.size);
    view.redraw();
    document.dispatchEvent(new Event('borders'));
  }

  async function add(chosen) {
    for (const file of chosen) {
      try {
        if (file.size > MOST_BYTES) throw new Error('This file is larger than 30 MB. Simplify it first.');
        const placed = read(await file.text(), store.release);
        files.set(file.name, placed);
        say(welcome(placed));
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
