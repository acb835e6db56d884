/** Numbers, times and places in plain words. Everything a reader sees of a number goes through here. */

/** @type {[number, string, number][]} from so many kWh on, what it is called, and how many kWh it is */
const UNITS = [[1e8, 'GWh', 1e6], [1e5, 'MWh', 1e3], [0, 'kWh', 1]];

/**
 * A number with thousands separators and a true minus sign.
 * @param {number} value
 * @param {number} [decimals]
 */
export function number(value, decimals = 0) {
  const text = value.toLocaleString('en-GB', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  return Number(text.replace(/[^\d.]/g, '')) === 0 ? text.replace('-', '') : text.replace('-', '−');
}

/**
 * "0.45° W": a longitude or latitude, with the letter of the side on which it lies.
 * @param {number} value
 * @param {string} sides letters of below and above zero: 'WE', 'SN'
 * @param {number} decimals
 */
export const degrees = (value, sides, decimals) => {
  const [minus, plus] = sides;
  const side = Number(value.toFixed(decimals));
  return `${number(Math.abs(value), decimals)}°${side ? `\u00a0${side < 0 ? minus : plus}` : ''}`;
};

/** The finest step that is written, and the one of numbers that are known exactly. */
const [FINEST, EXACT] = [1e-4, 0.01];

/**
 * Value and both ends of an interval with no more digits than the interval supports: all three in steps of a power of
 * ten that is a tenth to a hundredth of its width, counted in units of `divisor`.
 * @param {Interval} answer
 * @param {number} [divisor]
 */
export function rounded({value, low, high}, divisor = 1) {
  const width = high - low;
  const step = width > 0 ? Math.max(10 ** Math.floor(Math.log10(width) - 1), FINEST) : EXACT * divisor;
  const decimals = Math.max(0, Math.round(Math.log10(divisor / step)));
  const write = (each) => number((Math.round(each / step) * step) / divisor, decimals);
  return {value: write(value), low: write(low), high: write(high)};
}

/**
 * An answer in one unit, with the digits that its interval supports.
 * @param {Interval} answer kWh
 */
export function figure(answer) {
  const largest = Math.max(...['value', 'low', 'high'].map((name) => Math.abs(answer[name])));
  const [, unit, divisor] = UNITS.find(([from]) => largest >= from);
  return {...rounded(answer, divisor), unit};
}

/**
 * "1,350 kWh"
 * @param {Interval} answer
 */
export function amount(answer) {
  const {value, unit} = figure(answer);
  return `${value} ${unit}`;
}

/**
 * A text in which a number and its percent sign stay on one line.
 * @param {string} text
 */
export const joined = (text) => text.replace(/(\d) %/g, '$1\u00a0%');

export const NINETY_FIVE = joined('95 %');

/**
 * "95 % interval: 1,210 to 1,480 kWh"
 * @param {Interval} answer
 */
export function interval(answer) {
  const {low, high, unit} = figure(answer);
  return `${NINETY_FIVE} interval: ${low} to ${high} ${unit}`;
}

/** @type {[number, string][]} */
const LENGTHS = [[604800, 'week'], [86400, 'day'], [3600, 'hour'], [60, 'minute']];

/**
 * "hour", "30 minutes", "day": how long a step is.
 * @param {number} seconds
 */
export function duration(seconds) {
  for (const [length, name] of LENGTHS) {
    if (seconds % length === 0) return seconds === length ? name : `${number(seconds / length)} ${name}s`;
  }
  return `${number(seconds)} seconds`;
}

/**
 * The instant at which a step begins (or the one before it ends).
 * @param {number} step
 * @param {Pick<Facts, 'axes'>} facts
 */
export function instant(step, facts) {
  const {start, step_seconds: seconds} = facts.axes.time;
  return new Date(Date.parse(start) + 1000 * seconds * step);
}

const formats = new Map();
/**
 * @param {Date} date
 * @param {string} zone
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {string}
 */
function format(date, zone, options) {
  const key = zone + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat('en-GB', {timeZone: zone, ...options}));
  return formats.get(key).format(date).replace(',', '');
}

/**
 * "Mon 4 Feb 2013"
 * @param {Date} date
 * @param {string} zone
 */
export const day = (date, zone) =>
  format(date, zone, {weekday: 'short', day: 'numeric', month: 'short', year: 'numeric'});
/**
 * "4 Feb 2013"
 * @param {Date} when
 * @param {string} [zone]
 */
export const date = (when, zone = 'UTC') => format(when, zone, {day: 'numeric', month: 'short', year: 'numeric'});
/**
 * "4 to 8 Feb 2013", "28 Feb to 3 Mar 2013": what both ends share is said once.
 * @param {Date} from
 * @param {Date} to
 * @param {string} [zone]
 */
export function dates(from, to, zone = 'UTC') {
  const [first, last] = [date(from, zone).split(' '), date(to, zone).split(' ')];
  const differ = [2, 1, 0].find((n) => first[n] !== last[n]);
  return differ === undefined ? last.join(' ') : `${first.slice(0, differ + 1).join(' ')} to ${last.join(' ')}`;
}
/**
 * "14:00"
 * @param {Date} date
 * @param {string} zone
 */
export const clock = (date, zone) => format(date, zone, {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});

/**
 * A range of steps: "Mon 4 Feb 2013, 14:00 to 15:00"; whole days without hours.
 * @param {Span} steps
 * @param {Facts} facts
 * @param {string} [zone]
 */
export function span([first, last], facts, zone = 'UTC') {
  const from = instant(first, facts);
  const to = instant(last, facts);
  const before = new Date(Number(to) - 1);
  if (clock(from, zone) === '00:00' && clock(to, zone) === '00:00') {
    const [one, other] = [day(from, zone), day(before, zone)];
    return one === other ? one : `${one} to ${other}`;
  }
  if (day(from, zone) === day(before, zone)) {
    const end = clock(to, zone) === '00:00' ? '24:00' : clock(to, zone);
    return `${day(from, zone)}, ${clock(from, zone)} to ${end}`;
  }
  return `${day(from, zone)}, ${clock(from, zone)} to ${day(to, zone)}, ${clock(to, zone)}`;
}

/**
 * "UTC", or "London time" for Europe/London.
 * @param {string} zone
 */
export const zoneName = (zone) => (zone === 'UTC' ? 'UTC' : `${zone.split('/').pop().replaceAll('_', ' ')} time`);

/** @param {Span} cells */
const range = ([first, last]) => (last - first === 1 ? `${first}` : `${first} to ${last - 1}`);

/**
 * Which part of the map: "the whole map", "cell x 3, y 4", "cells x 3 to 9, y 4 to 8", "Castle feeder".
 * @param {Area | null} area
 */
export function place(area) {
  if (!area) return 'the whole map';
  return area.name || shape(area);
}

/**
 * The same without the name that somebody gave it.
 * @param {Area} area
 */
export function shape(area) {
  if (area.polygons) {
    const [parts, rings] = [area.polygons.length, area.polygons.flat()];
    const holes = rings.length - parts;
    const count = number(rings.reduce((sum, ring) => sum + ring.length, 0));
    const less = holes ? `, less ${holes === 1 ? 'a hole' : `${number(holes)} holes`}` : '';
    return `${parts === 1 ? 'a polygon' : `${number(parts)} polygons`} with ${count} corners${less}`;
  }
  const single = area.x[1] - area.x[0] === 1 && area.y[1] - area.y[0] === 1;
  return `${single ? 'cell' : 'cells'} x ${range(area.x)}, y ${range(area.y)}`;
}
