/** Limits to type: an area by cells or coordinates, a period by the clock of the chosen zone. */

import {make} from './dom.js';
import {limits} from './frame.js';
import {sentence} from './panel.js';
import {instant, number, zoneName} from './words.js';

const SIDES = ['x-from', 'x-to', 'y-from', 'y-to'];

/**
 * An instant as a datetime-local input writes it, on the clocks of a zone.
 * @param {Date} date
 * @param {string} zone
 * @param {boolean} [seconds]
 */
export function localText(date, zone, seconds = false) {
  /** @type {Intl.DateTimeFormatOptions} */
  const options = {dateStyle: 'short', timeStyle: seconds ? 'medium' : 'short', timeZone: zone};
  return new Intl.DateTimeFormat('sv-SE', options).format(date).replace(' ', 'T');
}

/**
 * The instant at which clocks of a zone show a text such as 2013-02-04T00:00.
 * @param {string} text
 * @param {string} zone
 */
export function fromLocal(text, zone) {
  const wanted = Date.parse(`${text}Z`);
  const ahead = (at) => Date.parse(`${localText(new Date(at), zone, true)}Z`) - at;
  const guess = wanted - ahead(wanted);
  return new Date(wanted - ahead(guess));  // a second look, for the guess may lie across a change of clocks
}

/**
 * A rectangle as an area.
 * @param {number} west
 * @param {number} south
 * @param {number} east
 * @param {number} north
 * @returns {Area}
 */
const rectangleOf = (west, south, east, north) =>
  ({polygons: [[[[west, south], [east, south], [east, north], [west, north]]]]});

/**
 * The limits of an area if it is a rectangle, else null.
 * @param {Area | null} area
 * @param {Facts} facts
 * @param {string} way 'cells' or 'coordinates'
 * @returns {number[] | null}
 */
export function limitsOf(area, facts, way) {
  const {x, y} = facts.axes;
  if (way === 'cells') return area?.x ? [area.x[0], area.x[1] - 1, area.y[0], area.y[1] - 1] : null;
  if (area?.polygons) {
    const [[west, south], , [east, north]] = area.polygons[0][0];
    const rectangle = rectangleOf(west, south, east, north);
    return JSON.stringify(area.polygons) === JSON.stringify(rectangle.polygons) ? [west, east, south, north] : null;
  }
  if (!area || (facts.lonlat && x.unit !== 'degree')) return null;
  const at = ({start, end, size}, edge) => Number((start + ((end - start) * edge) / size).toFixed(6));
  return [at(x, area.x[0]), at(x, area.x[1]), at(y, area.y[0]), at(y, area.y[1])];
}

/**
 * The area that typed texts mean; what is left empty is the edge of the map. Throws a sentence.
 * @param {string[]} texts
 * @param {Facts} facts
 * @param {string} way 'cells' or 'coordinates'
 * @returns {Area | null}
 */
export function areaOf(texts, facts, way) {
  if (texts.every((text) => text === '')) return null;
  const {x, y} = facts.axes;
  const given = texts.map((text) => (text === '' ? null : Number(text)));
  const wrong = texts.find((_, i) => Number.isNaN(given[i]));
  if (wrong !== undefined) throw new Error(`“${wrong}” is not a number.`);
  if (way === 'cells') {
    /** @returns {Span} */
    const pair = (name, typed, {size}) => {
      const [first, last] = typed;
      const [from, to] = [first ?? 0, last ?? size - 1];
      const sound = [from, to].every((cell) => Number.isInteger(cell) && cell >= 0 && cell < size) && from <= to;
      const end = number(size - 1);
      if (!sound) throw new Error(`${name}: give whole numbers from 0 to ${end}, the first not above the last.`);
      return [from, to + 1];
    };
    return {x: pair('x', given.slice(0, 2), x), y: pair('y', given.slice(2), y)};
  }
  const edges = limits(facts);
  const [west, east, south, north] = given.map((value, i) => value ?? edges[i]);
  if (west >= east || south >= north) throw new Error('“From” must be below “to”.');
  return rectangleOf(west, south, east, north);
}

/** @type {Mount<HTMLFormElement>} */
export function mount(element, store, api) {
  const facts = store.release;
  const {x, y, time} = facts.axes;
  const fine = time.step_seconds % 60 !== 0;
  const typed = {area: false, period: false};

  const field = (id, label, attributes) => make('label', {},
    make('span', {}, label), make('input', {id: `limit-${id}`, autocomplete: 'off', ...attributes}));
  const way = make('select', {id: 'limit-way', 'aria-label': 'How to give the area', onchange: () => relabel()},
    make('option', {value: 'cells'}, 'by cells'), make('option', {value: 'coordinates'}, 'by coordinates'));
  const sides = SIDES.map((id) => field(id, '', {inputmode: 'decimal', size: 9}));
  const times = ['from', 'to'].map((id) => field(id, id, {type: 'datetime-local', step: fine ? 1 : 60}));
  const zone = make('span');
  const said = make('div', {role: 'alert'});
  const input = (label) => label.querySelector('input');
  element.noValidate = true;
  element.replaceChildren(
    make('fieldset', {}, make('legend', {}, 'Area ', way), make('div', {class: 'fields'}, ...sides)),
    make('fieldset', {}, make('legend', {}, 'Period (', zone, ')'), make('div', {class: 'fields'}, ...times)),
    said,
    make('div', {class: 'panel-foot'}, make('button', {type: 'submit'}, 'Apply'),
      make('button', {type: 'button', class: 'plain', onclick: clear}, 'Clear')),
  );

  function relabel() {
    const cells = way.value === 'cells';
    const [across, up] = cells || !facts.lonlat ? ['x', 'y'] : ['longitude', 'latitude'];
    const edges = cells ? [0, x.size - 1, 0, y.size - 1] : limits(facts).map((edge) => Number(edge.toFixed(6)));
    sides.forEach((label, i) => {
      label.firstChild.textContent = `${i < 2 ? across : up} ${i % 2 ? 'to' : 'from'}`;
      input(label).placeholder = String(edges[i]);
    });
    typed.area = false;
    fill(store.get());
  }

  function fill(state) {
    zone.textContent = zoneName(state.zone);
    if (!typed.area) {
      const sidesOf = limitsOf(state.area, facts, way.value);
      sides.forEach((label, i) => { input(label).value = String(sidesOf?.[i] ?? ''); });
    }
    if (!typed.period) times.forEach((label, i) => {
      const ends = [0, time.steps].map((step) => localText(instant(step, facts), state.zone, fine));
      Object.assign(input(label), {min: ends[0], max: ends[1]});
      input(label).value = state.period ? localText(instant(state.period[i], facts), state.zone, fine) : '';
    });
  }

  function clear() {
    Object.assign(typed, {area: false, period: false});
    said.replaceChildren();
    store.set({area: null, period: null});
    fill(store.get());
  }

  /**
   * Ask the server which steps two instants are; what it refuses, it says why.
   * @returns {Promise<Span | null>}
   */
  async function askPeriod() {
    if (!typed.period) return store.get().period;
    const texts = times.map((label) => input(label).value);
    const bad = times.some((label) => input(label).validity.badInput);
    if (bad) throw new Error('Give a date and a time of day, or leave both empty.');
    if (!texts.some(Boolean)) return null;
    const ends = texts.map((text, i) => (text ? fromLocal(text, store.get().zone) : instant(i * time.steps, facts)));
    const iso = ends.map((end) => end.toISOString().replace('.000', ''));
    const {time: {first, last}} = await api.query({time: [iso.join('/')]});
    return [first, last];
  }

  element.addEventListener('input', (event) => {
    const target = /** @type {Node} */ (event.target);
    if (sides.some((label) => label.contains(target))) typed.area = true;
    if (times.some((label) => label.contains(target))) typed.period = true;
  });
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    said.replaceChildren();
    try {
      const texts = sides.map((label) => input(label).value.trim());
      const area = typed.area ? areaOf(texts, facts, way.value) : store.get().area;
      const next = {area, period: await askPeriod()};
      if (area?.polygons) await api.query({area, time: next.period});  // so that what covers nothing is refused here
      Object.assign(typed, {area: false, period: false});
      store.set(next);
      fill(store.get());
    } catch (error) {
      said.replaceChildren(sentence(error.message, 'trouble'));
    }
  });
  store.subscribe(fill);
  relabel();
}
