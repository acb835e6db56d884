/** The whole view as one state, kept in the URL's hash so that every view can be linked and restored. */

import {limits, toWorld} from './frame.js';

export const TABS = ['curve', 'profile', 'highest', 'compare', 'areas'];
/** Borders with more corners than this would make links too long to send. */
export const MOST_CORNERS = 5000;
const LONGEST_NAME = 80;

/**
 * A name that others gave an area, as one short line of text; '' where there is none.
 * @param {unknown} text
 */
export const tidyName = (text) => String(text ?? '').replace(/[\p{C}\s]+/gu, ' ').trim().slice(0, LONGEST_NAME).trim();

/** @type {View} */
const EMPTY = {release: null, time: null, period: null, area: null, other: null, tab: 'curve', zone: 'UTC'};

const int = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : NaN);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** @param {string|null} text "3:9" @returns {[number, number]|null} a half-open range that is not empty */
function readRange(text) {
  const [first, last, ...more] = (text ?? '').split(':').map(int);
  return first < last && !more.length ? [first, last] : null;
}

/**
 * How many corners an area of polygons has, those of holes too.
 * @param {Area} area
 */
export const corners = ({polygons}) => polygons.flat().reduce((sum, ring) => sum + ring.length, 0);

/**
 * An area is "x0:x1,y0:y1" in cells, or polygons: corners "x,y" with ";" between, as the API takes them; "~" begins a
 * hole, "!" another polygon.
 * @param {string | null} text
 * @param {string | null} [name]
 * @returns {Area | null}
 */
function readArea(text, name = '') {
  if (!text) return null;
  if (text.includes(';')) {
    if (text.split(';', MOST_CORNERS + 1).length > MOST_CORNERS) return null;
    const ring = (part) => part.split(';').map((corner) => corner.split(',').map(readNumber));
    const polygons = text.split('!').map((polygon) => polygon.split('~').map(ring));
    const sound = (each) => each.length >= 3 && each.every((at) => at.length === 2 && at.every(Number.isFinite));
    return polygons.flat().every(sound) && corners({polygons}) <= MOST_CORNERS ? named({polygons}, name) : null;
  }
  const [x, y, ...more] = text.split(',').map(readRange);
  return x && y && !more.length ? {x, y} : null;
}

/**
 * Polygons with their name, if they have one.
 * @param {Area} area
 * @param {string} name
 * @returns {Area}
 */
const named = ({polygons}, name) => ({polygons, ...(tidyName(name) && {name: tidyName(name)})});

const readNumber = (text) => (/^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : NaN);

/**
 * The zone of a name, or null where there is none.
 * @param {string | null} name
 */
export function readZone(name) {
  try {
    return name ? new Intl.DateTimeFormat('en-GB', {timeZone: name}).resolvedOptions().timeZone : null;
  } catch {
    return null;
  }
}

/**
 * Read a hash. Whatever it holds, what comes back has the right shape; what makes no sense is left out.
 * @param {string} hash
 * @returns {View}
 */
export function fromHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const release = given.get('release') ?? '';
  const compared = given.has('other-area') || given.has('other-period');
  return {
    release: /^[\w.-]{1,200}$/.test(release) ? release : null,
    time: readRange(given.get('time')),
    period: readRange(given.get('period')),
    area: readArea(given.get('area'), given.get('name')),
    other: compared
      ? {area: readArea(given.get('other-area'), given.get('other-name')), period: readRange(given.get('other-period'))}
      : null,
    tab: TABS.includes(given.get('tab')) ? given.get('tab') : 'curve',
    zone: readZone(given.get('zone')) ?? 'UTC',
  };
}

/** @param {Area | null} area */
const writeArea = (area) => {
  if (!area) return '';
  if (area.polygons) {
    const ring = (each) => each.map((corner) => corner.join(',')).join(';');
    return area.polygons.map((polygon) => polygon.map(ring).join('~')).join('!');
  }
  return `${area.x.join(':')},${area.y.join(':')}`;
};

/**
 * Write a state as a hash; the opposite of fromHash.
 * @param {Partial<View>} state
 */
export function toHash(state) {
  const {other} = state;
  const parts = {
    release: state.release,
    time: state.time?.join(':'),
    period: state.period?.join(':'),
    area: writeArea(state.area),
    name: state.area?.name,
    'other-area': other && (writeArea(other.area) || 'all'),
    'other-name': other?.area?.name,
    'other-period': other?.period?.join(':'),
    tab: state.tab === 'curve' ? null : state.tab,
    zone: state.zone === 'UTC' ? null : state.zone,
  };
  const readable = (text) => encodeURIComponent(text).replace(/%3A|%2C|%3B|%2F/g, decodeURIComponent);
  const given = Object.entries(parts).filter(([, text]) => text);
  return '#' + given.map(([name, text]) => `${name}=${readable(text)}`).join('&');
}

/**
 * @param {Span | null} range
 * @param {number} size
 * @returns {Span | null}
 */
function fitRange(range, size) {
  if (!Array.isArray(range)) return null;
  const [first, last] = range.map((end) => Math.min(Math.max(Math.round(end), 0), size));
  return first < last ? [first, last] : null;
}

/**
 * Decimals that place a corner to a millionth of the map: no longer a link than that needs.
 * @param {Facts} facts
 */
function decimals(facts) {
  const [west, east] = limits(facts);
  const width = east - west;
  return Math.min(Math.max(6 - Math.floor(Math.log10(width || 1)), 0), 12);
}

/**
 * @param {Area | null} area
 * @param {Facts} facts
 * @returns {Area | null}
 */
function fitArea(area, facts) {
  const {axes} = facts;
  if (!area) return null;
  if (area.polygons) {
    const digits = decimals(facts);
    const ring = (each) => each.map((corner) => corner.map((value) => Number(value.toFixed(digits))));
    return named({polygons: area.polygons.map((polygon) => polygon.map(ring))}, area.name);
  }
  const x = fitRange(area.x, axes.x.size);
  const y = fitRange(area.y, axes.y.size);
  return x && y ? {x, y} : null;
}

/**
 * Fit a state to a release: ranges end where the grid and the window end.
 * @param {View} state
 * @param {Facts} facts
 * @returns {View}
 */
export function fit(state, facts) {
  const {steps} = facts.axes.time;
  const period = fitRange(state.period, steps);
  const other = state.other && {area: fitArea(state.other.area, facts), period: fitRange(state.other.period, steps)};
  return {
    ...EMPTY,
    ...state,
    release: facts.id,
    time: fitRange(state.time, steps) ?? period ?? [0, steps],
    period,
    area: fitArea(state.area, facts),
    other,
  };
}

const within = (range, size) => Boolean(range) && range[1] <= size;
const alike = (one, other, names) => names.every((name) => one[name] === other[name]);

/**
 * An area on another map of the same ground: the same cells, or the same place, or nothing.
 * @param {Area | null} area
 * @param {Facts} from
 * @param {Facts} to
 * @returns {Area | null}
 */
function movedArea(area, from, to) {
  if (!area || from.crs !== to.crs) return null;
  const grid = ['x', 'y'].every((axis) => alike(from.axes[axis], to.axes[axis], ['start', 'end', 'size']));
  if (grid) return area;
  if (!from.lonlat) return null;  // coordinates of one's own may be of another place
  const {polygons, name} = area.polygons ? area : {polygons: [[box(area, from)]]};
  const [west, east, south, north] = limits(to);
  const on = ([lon, lat]) => lon >= west && lon <= east && lat >= south && lat <= north;
  return polygons.flat(2).every(on) ? fitArea({polygons, name}, to) : null;
}

/**
 * @param {Area} area
 * @param {Facts} facts
 * @returns {Ring}
 */
function box({x, y}, facts) {
  /** @type {Ring} */
  const cells = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]];
  return cells.map((corner) => toWorld(facts, corner));
}

/**
 * A view of one release as one of another: area, period and clock stay where both have them.
 * @param {View} state
 * @param {Facts} from
 * @param {Facts} to
 * @returns {View}
 */
export function moved(state, from, to) {
  const clock = alike(from.axes.time, to.axes.time, ['start', 'step_seconds']);
  const keep = (range) => (clock && within(range, to.axes.time.steps) ? range : null);
  const {zone, tab, period} = state;
  const area = movedArea(state.area, from, to);
  return {release: to.id, area, period: keep(period), time: null, other: null, tab: tab === 'areas' ? 'curve' : tab, zone};
}

/**
 * The map follows a period that is newly marked, and shows everything again when it is cleared, until it is moved.
 * @param {View} view
 * @param {Partial<View>} patch
 * @returns {Partial<View>}
 */
function withPeriod({time, period}, patch) {
  if (!('period' in patch) || 'time' in patch || same(patch.period, period)) return patch;
  return patch.period || same(time, period) ? {...patch, time: patch.period} : patch;
}

/**
 * Make a store. Listeners are called with (state, previous) after every change.
 * @returns {Store}
 */
export function createStore() {
  let state = EMPTY;
  let writing = null;
  const listeners = new Set();

  function change(next) {
    const previous = state;
    if (same(next, previous)) return false;
    state = next;
    for (const listener of listeners) listener(state, previous);
    return true;
  }

  /** Time moves many times a second while it plays: browsers refuse so many URLs, and nobody goes back by them. */
  function write(previous) {
    clearTimeout(writing);
    const hash = toHash(state);
    const onlyTime = same({...state, time: null}, {...previous, time: null});
    if (onlyTime) writing = setTimeout(() => history.replaceState(null, '', toHash(state)), 300);
    else if (hash !== location.hash) history.pushState(null, '', hash);
  }

  const store = {
    /** The facts of the release, as the server gives them. */
    release: null,
    get: () => state,
    set(patch) {
      const previous = state;
      const next = {...state, ...withPeriod(state, patch)};
      if (change(store.release ? fit(next, store.release) : next)) write(previous);
    },
    /** An area as the state holds it. */
    fitted: (area) => fitArea(area, store.release),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Begin with a release's facts and what the URL says, and follow the URL from now on. */
    open(facts) {
      store.release = facts;
      change(fit(fromHash(location.hash), facts));
      history.replaceState(null, '', toHash(state));
      addEventListener('popstate', () => {
        clearTimeout(writing);
        const asked = fromHash(location.hash);
        if (asked.release && asked.release !== facts.id) location.reload();
        else change(fit(asked, facts));
      });
    },
  };
  return store;
}

export const store = createStore();
