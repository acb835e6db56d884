/** What the panels share: asking the server when the state changes, names of places and rates. */

import {make} from './dom.js';
import {downloadCsv} from './table.js';
import {duration, figure, instant, joined, number} from './words.js';

/**
 * Ask when a question changes, and show the last one's answer; answers that come late are dropped.
 *
 * question(state): what is asked, or null while the panel is not looked at; ask(question): a promise;
 * show(answer, question), fail(sentence), which is '' where the page says it at its top. `wait`: milliseconds for which the question must have been the same.
 * @template {object} Q
 * @template A
 * @param {Store} store
 * @param {HTMLElement} element
 * @param {Following<Q, A>} panel
 */
export function follow(store, element, {question, ask, show, fail, wait = 0}) {
  let [asked, turn, timer] = [null, 0, null];

  async function look(key) {
    const mine = ++turn;
    element.setAttribute('aria-busy', 'true');
    try {
      const answer = await ask(JSON.parse(key));
      if (mine === turn) show(answer, JSON.parse(key));
    } catch (error) {
      if (mine !== turn) return;
      asked = null;  // so that the same question can be asked again
      if (!('status' in error)) throw error;  // not the server's refusal but a fault of ours
      fail(error.status ? error.message : '');  // a server that is gone is said once, at the top
    } finally {
      if (mine === turn) element.removeAttribute('aria-busy');
    }
  }

  function changed(state) {
    const next = question(state);
    if (!next || JSON.stringify(next) === asked) return;
    asked = JSON.stringify(next);
    turn += 1;
    clearTimeout(timer);
    if (wait) timer = setTimeout(look, wait, asked);
    else look(asked);
  }

  store.subscribe(changed);
  changed(store.get());
}

/**
 * A sentence where numbers would be; nothing for none.
 * @param {string} text
 * @param {string} [kind]
 */
export const sentence = (text, kind = 'quiet') => make('p', {class: kind, hidden: !text}, joined(text));


/**
 * Steps as the instants they start at, for files.
 * @param {number[]} steps
 * @param {Facts} facts
 */
export const instants = (steps, facts) => steps.map((step) => instant(step, facts).toISOString().replace('.000', ''));

/**
 * A button that saves a table as a CSV file; table() gives names of columns, and rows.
 * @param {string} what
 * @param {string} name
 * @param {Facts} facts
 * @param {() => Table} table
 */
export function csvButton(what, name, facts, table) {
  const label = `CSV: save ${what} as a table`;  // begins with what is seen, for those who speak to their computer
  const onclick = () => downloadCsv(`${facts.id}-${name}.csv`, facts, ...table());
  return make('button', {type: 'button', class: 'plain', 'aria-label': label, title: label, onclick}, 'CSV');
}

/**
 * An answer spread evenly over so many parts: its interval shrinks alike.
 * @param {Interval} answer
 * @param {number} parts
 * @returns {Interval}
 */
export function per({value, low, high}, parts) {
  return {value: value / parts, low: low / parts, high: high / parts};
}

/**
 * "522 kWh (466 to 578)": for charts, which say that brackets are 95 % intervals.
 * @param {Interval} answer
 */
export function brief(answer) {
  const {value, low, high, unit} = figure(answer);
  return `${value} ${unit} (${low} to ${high})`;
}

/**
 * The share of a part in a whole, and its range if both intervals hold; null where the whole may be nothing.
 * @param {Interval} part
 * @param {Interval} whole
 * @returns {Interval | null}
 */
export function shareOf(part, whole) {
  if (!(whole.low > 0)) return null;
  const at = (kwh, least, most) => kwh / (kwh < 0 ? least : most);
  return {
    value: part.value / whole.value,
    low: at(part.low, whole.low, whole.high),
    high: at(part.high, whole.high, whole.low),
  };
}

/**
 * Whether an interval is wider than its value: then there is little to say.
 * @param {Interval} answer
 */
export const vague = ({value, low, high}) => high - low > Math.abs(value);

/**
 * "49 cells", "1 cell", "12.4 cells (some in part)"
 * @param {number} cells
 */
export function cellCount(cells) {
  if (Number.isInteger(cells)) return cells === 1 ? '1 cell' : `${number(cells)} cells`;
  return `${number(cells, cells < 100 ? 1 : 0)} cells, counting those in part`;
}

/**
 * How large an area is on the ground: "1.2 km²"; nothing where the grid does not say.
 * @param {number} cells
 * @param {Facts} facts
 */
export function size(cells, facts) {
  if (!facts.cell_metres) return '';
  const [width, height] = facts.cell_metres;
  const km2 = (cells * width * height) / 1e6;
  return `about ${number(km2, km2 < 10 ? 2 : km2 < 100 ? 1 : 0)} km²`;
}

/**
 * A coordinate to a thousandth of what the map spans, or about 10 m.
 * @param {number} value
 * @param {number} span
 */
function coordinate(value, span) {
  const maximumFractionDigits = Math.min(6, Math.max(0, Math.ceil(3 - Math.log10(span))));
  return value.toLocaleString('en', {maximumFractionDigits}).replace('-', '−');
}

/**
 * Where an area lies in coordinates: "x 750 to 2,500, y 0 to 1,000", or "0.42° to 0.35° W, 51.42° to 51.44° N".
 * @param {Area | null} area
 * @param {Facts} facts
 */
export function extent(area, facts) {
  const {x, y} = facts.axes;
  const at = ({start, end, size: cells}, edge) => start + ((end - start) * edge) / cells;
  const corners = area?.polygons?.flat(2) ?? [
    [at(x, area?.x[0] ?? 0), at(y, area?.y[0] ?? 0)],
    [at(x, area?.x[1] ?? x.size), at(y, area?.y[1] ?? y.size)],
  ];
  const degrees = area?.polygons ? Boolean(facts.lonlat) : x.unit === 'degree';
  const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
  const unit = facts.lonlat && !degrees && x.unit ? ` ${x.unit === 'metre' ? 'm' : x.unit}` : '';
  const limits = (values, axis, sides) => {
    const [minus, plus] = sides;
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const write = (value) => coordinate(value, degrees ? 0.1 : axis.end - axis.start);
    if (!degrees) return `${write(least)} to ${write(most)}${unit}`;
    if (least < 0 && most <= 0) return `${write(-least)}° to ${write(-most)}° ${minus}`;
    return `${least < 0 ? `${write(-least)}° ${minus}` : `${write(least)}°`} to ${write(most)}° ${plus}`;
  };
  const names = degrees ? ['', ''] : ['x ', 'y '];
  return `${names[0]}${limits(xs, x, 'WE')}, ${names[1]}${limits(ys, y, 'SN')}`;
}

/**
 * Over how many steps an average is told for a period: days where it has two or more, else steps; 0: not at all.
 * @param {Span} period
 * @param {Facts} facts
 */
export function averageOver([first, last], facts) {
  const day = 86400 / facts.axes.time.step_seconds;
  const steps = last - first;
  if (Number.isInteger(day) && day > 1 && steps >= 2 * day) return day;
  return steps > 1 ? 1 : 0;
}

/**
 * "hour", "day": what so many steps are together.
 * @param {number} steps
 * @param {Facts} facts
 */
export const lasting = (steps, facts) => duration(steps * facts.axes.time.step_seconds);

/**
 * A bar from zero with its interval as a whisker, on an axis shared by rows; for the eye only.
 * @param {Interval} answer
 * @param {[number, number]} ends of the axis
 * @param {string} [kind]
 */
export function bar({value, low, high}, [least, most], kind = 'a') {
  const at = (kwh) => `${(100 * (kwh - least)) / (most - least || 1)}%`;
  const piece = (name, from, to) => {
    const span = make('span', {class: name});
    span.style.left = at(Math.min(from, to));
    span.style.width = `${(100 * Math.abs(to - from)) / (most - least || 1)}%`;
    return span;
  };
  const pieces = [piece('bar-fill', 0, value), piece('bar-whisker', low, high)];
  return make('div', {class: `bar-track ${kind}`, 'aria-hidden': 'true'}, ...pieces);
}

/**
 * The axis that bars share: zero is on it.
 * @param {Interval[]} answers
 * @returns {[number, number]}
 */
export function barRange(answers) {
  const ends = answers.flatMap(({value, low, high}) => [value, low, high]);
  return [Math.min(0, ...ends), Math.max(0, ...ends)];
}
