/** The whole view as one state, kept in the URL's hash so that every view can be linked and restored. */

import {limits} from './frame.js';

export const TABS = ['curve', 'profile', 'highest', 'compare'];
/** Borders with more corners than this would make links too long to send. */
export const MOST_CORNERS = 5000;

const EMPTY = {release: null, time: null, period: null, area: null, other: null, tab: 'curve', zone: 'UTC'};

const int = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : NaN);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** @param {string|null} text "3:9" @returns {[number, number]|null} a half-open range that is not empty */
function readRange(text) {
  const parts = (text ?? '').split(':').map(int);
  return parts.length === 2 && parts[0] < parts[1] ? parts : null;
}

/** How many corners an area of polygons has, those of holes too. */
export const corners = ({polygons}) => polygons.flat().reduce((sum, ring) => sum + ring.length, 0);

/**
 * An area is "x0:x1,y0:y1" in cells, or polygons: corners "x,y" with ";" between, as the API takes them; "~" begins a
 * hole, "!" another polygon.
 */
function readArea(text) {
  if (!text) return null;
  if (text.includes(';')) {
    if (text.split(';', MOST_CORNERS + 1).length > MOST_CORNERS) return null;
    const ring = (part) => part.split(';').map((corner) => corner.split(',').map(readNumber));
    const polygons = text.split('!').map((polygon) => polygon.split('~').map(ring));
    const sound = (each) => each.length >= 3 && each.every((at) => at.length === 2 && at.every(Number.isFinite));
    return polygons.flat().every(sound) && corners({polygons}) <= MOST_CORNERS ? {polygons} : null;
  }
  const [x, y, ...more] = text.split(',').map(readRange);
  return x && y && !more.length ? {x, y} : null;
}

const readNumber = (text) => (/^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : NaN);

function readZone(zone) {
  try {
    return new Intl.DateTimeFormat('en-GB', {timeZone: zone || 'UTC'}).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}

/** Read a hash. Whatever it holds, what comes back has the right shape; what makes no sense is left out. */
export function fromHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const release = given.get('release') ?? '';
  const compared = given.has('other-area') || given.has('other-period');
  return {
    release: /^[\w.-]{1,200}$/.test(release) ? release : null,
    time: readRange(given.get('time')),
    period: readRange(given.get('period')),
    area: readArea(given.get('area')),
    other: compared
      ? {area: readArea(given.get('other-area')), period: readRange(given.get('other-period'))}
      : null,
    tab: TABS.includes(given.get('tab')) ? given.get('tab') : 'curve',
    zone: readZone(given.get('zone')),
  };
}

const writeArea = (area) => {
  if (!area) return '';
  if (area.polygons) {
    const ring = (each) => each.map((corner) => corner.join(',')).join(';');
    return area.polygons.map((polygon) => polygon.map(ring).join('~')).join('!');
  }
  return `${area.x.join(':')},${area.y.join(':')}`;
};

/** Write a state as a hash; the opposite of fromHash. */
export function toHash(state) {
  const {other} = state;
  const parts = {
    release: state.release,
    time: state.time?.join(':'),
    period: state.period?.join(':'),
    area: writeArea(state.area),
    'other-area': other && (writeArea(other.area) || 'all'),
    'other-period': other?.period?.join(':'),
    tab: state.tab === 'curve' ? null : state.tab,
    zone: state.zone === 'UTC' ? null : state.zone,
  };
  const readable = (text) => encodeURIComponent(text).replace(/%3A|%2C|%3B|%2F/g, decodeURIComponent);
  const given = Object.entries(parts).filter(([, text]) => text);
  return '#' + given.map(([name, text]) => `${name}=${readable(text)}`).join('&');
}

function fitRange(range, size) {
  if (!Array.isArray(range)) return null;
  const [first, last] = range.map((end) => Math.min(Math.max(Math.round(end), 0), size));
  return first < last ? [first, last] : null;
}

/** Decimals that place a corner to a millionth of the map: no longer a link than that needs. */
function decimals(facts) {
  const [west, east] = limits(facts);
  const width = east - west;
  return Math.min(Math.max(6 - Math.floor(Math.log10(width || 1)), 0), 12);
}

function fitArea(area, facts) {
  const {axes} = facts;
  if (!area) return null;
  if (area.polygons) {
    const digits = decimals(facts);
    const ring = (each) => each.map((corner) => corner.map((value) => Number(value.toFixed(digits))));
    return {polygons: area.polygons.map((polygon) => polygon.map(ring))};
  }
  const x = fitRange(area.x, axes.x.size);
  const y = fitRange(area.y, axes.y.size);
  return x && y ? {x, y} : null;
}

/** Fit a state to a release: ranges end where the grid and the window end. */
export function fit(state, facts) {
  const {steps} = facts.axes.time;
  const other = state.other && {area: fitArea(state.other.area, facts), period: fitRange(state.other.period, steps)};
  return {
    ...EMPTY,
    ...state,
    release: facts.id,
    time: fitRange(state.time, steps) ?? [0, steps],
    period: fitRange(state.period, steps),
    area: fitArea(state.area, facts),
    other,
  };
}

/** Make a store. Listeners are called with (state, previous) after every change. */
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
      const next = {...state, ...patch};
      if (change(store.release ? fit(next, store.release) : next)) write(previous);
    },
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
