/** Tables of what is shown, and files of them (CSV), with the names that gridveil's own exports use. */

import {make} from './dom.js';
import {toWorld} from './frame.js';
import {instant} from './words.js';

/** Names of an answer's columns, as in the files that gridveil exports. */
export const ANSWER = ['kwh', 'standard_error_kwh', 'kwh_low', 'kwh_high'];
const NOT_PRIVATE = 'NOT PRIVATE (TEST NOISE)';

/**
 * A table as CSV; text is quoted where it must be, and cannot act as a formula in a spreadsheet.
 * @param {Columns} columns
 * @param {Rows} rows
 */
export function csv(columns, rows) {
  const cell = (value) => {
    if (typeof value === 'number') return String(value);
    const text = String(value ?? '').replace(/^[=+\-@\t\r]/, "'$&");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

/**
 * Hand a file to the user.
 * @param {string} name
 * @param {Blob} blob
 */
export function give(name, blob) {
  const link = make('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/**
 * A table in which every row says that it is not private, where it is not.
 * @param {Facts} facts
 * @param {Columns} columns
 * @param {Rows} rows
 * @returns {Table}
 */
export const warned = ({private: isPrivate}, columns, rows) =>
  (isPrivate ? [columns, rows] : [[...columns, 'warning'], rows.map((row) => [...row, NOT_PRIVATE])]);

/**
 * Hand a table to the user as a file.
 * @param {string} name
 * @param {Facts} facts
 * @param {Columns} columns
 * @param {Rows} rows
 */
export function downloadCsv(name, facts, columns, rows) {
  give(name, new Blob([csv(...warned(facts, columns, rows))], {type: 'text/csv;charset=utf-8'}));
}

/**
 * @param {number} step
 * @param {Facts} facts
 */
const iso = (step, facts) => instant(step, facts).toISOString().replace('.000Z', 'Z');

/**
 * Names of the columns that say where a cell is, and the cell's own: its centre (on bent maps to about a metre).
 * @param {Facts} facts
 */
export const placeColumns = (facts) => ['x', 'y', ...(facts.lonlat ? ['lon', 'lat'] : ['x_centre', 'y_centre'])];
/**
 * @param {Point} cell
 * @param {Facts} facts
 */
export const placeCells = ([x, y], facts) =>
  [x, y, ...toWorld(facts, [x + 0.5, y + 0.5]).map((at) => Number(at.toFixed(7)))];

/**
 * Every cell of the map: where it is, when, and how much.
 * @param {Slice} slice
 * @param {Facts} facts
 * @returns {Table}
 */
export function sliceTable({nx, time, value, error, low, high}, facts) {
  const [from, to] = time.map((step) => iso(step, facts));
  const where = (n) => placeCells([n % nx, Math.floor(n / nx)], facts);
  const rows = Array.from(value, (kwh, n) => [...where(n), from, to, kwh, error[n], low[n], high[n]]);
  return [[...placeColumns(facts), 'start', 'end', ...ANSWER], rows];
}

/**
 * The curve of the area.
 * @param {Series} series
 * @param {Facts} facts
 * @returns {Table}
 */
export function seriesTable({first, every, time, value, standard_error: error, low, high}, facts) {
  const ends = first.map((step) => Math.min(step + every, time.last));
  const times = (n) => [iso(first[n], facts), iso(ends[n], facts)];
  return [['start', 'end', ...ANSWER], value.map((kwh, n) => [...times(n), kwh, error[n], low[n], high[n]])];
}

/**
 * The highest cells and which places are possible.
 * @param {Highest} highest
 * @param {Facts} facts
 * @returns {Table}
 */
export function highestTable({cells, time}, facts) {
  const when = [time.first, time.last].map((step) => iso(step, facts));
  const rows = cells.map(({x, y, place, ...of}, n) =>
    [n + 1, ...placeCells([x, y], facts), ...when, of.value, of.standard_error, of.low, of.high, ...place]);
  return [['rank', ...placeColumns(facts), 'start', 'end', ...ANSWER, 'place_from', 'place_to'], rows];
}
