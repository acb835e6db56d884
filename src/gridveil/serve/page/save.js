/** What is shown as files: tables (CSV), pictures (PNG), the whole release; and a link to the view. */

import {make} from './dom.js';
import {view} from './map.js';
import {curvePicture, mapPicture} from './picture.js';
import {toHash} from './state.js';
import {instant, number} from './words.js';

const NAMES = {
  netcdf: 'NetCDF, with everything',
  label: 'Privacy label',
  csv: 'CSV table',
  parquet: 'Parquet table',
  geojson: 'GeoJSON map',
  geoparquet: 'GeoParquet map',
  xlsx: 'Excel workbook',
  zarr: 'Zarr store (zip)',
};
const ANSWER = ['kwh', 'standard_error_kwh', 'low_95_kwh', 'high_95_kwh'];

/** A table as CSV; text is quoted where it must be, and cannot act as a formula in a spreadsheet. */
export function csv(columns, rows) {
  const cell = (value) => {
    if (typeof value === 'number') return String(value);
    const text = String(value ?? '').replace(/^[=+\-@\t\r]/, "'$&");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function give(name, blob) {
  const link = make('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Hand a table to the user as a file. */
export function downloadCsv(name, columns, rows) {
  give(name, new Blob([csv(columns, rows)], {type: 'text/csv;charset=utf-8'}));
}

/** Hand a canvas to the user as a picture. */
export const downloadPng = (name, canvas) => canvas.toBlob((blob) => give(name, blob), 'image/png');

const iso = (step, facts) => instant(step, facts).toISOString().replace('.000Z', 'Z');

/** Every cell of the map: where it is, when, and how much. */
export function sliceTable({nx, time, value, error, low, high}, facts) {
  const [from, to] = time.map((step) => iso(step, facts));
  const rows = Array.from(value, (kwh, n) => [n % nx, Math.floor(n / nx), from, to, kwh, error[n], low[n], high[n]]);
  return [['x', 'y', 'start', 'end', ...ANSWER], rows];
}

/** The curve of the area. */
export function seriesTable({first, every, time, value, standard_error: error, low, high}, facts) {
  const ends = first.map((step) => Math.min(step + every, time.last));
  const times = (n) => [iso(first[n], facts), iso(ends[n], facts)];
  return [['start', 'end', ...ANSWER], value.map((kwh, n) => [...times(n), kwh, error[n], low[n], high[n]])];
}

/** The highest cells and which places are possible. */
export function highestTable({cells}) {
  const rows = cells.map(({x, y, place, ...of}, n) =>
    [n + 1, ...place, x, y, of.value, of.standard_error, of.low, of.high]);
  return [['place', 'place_from', 'place_to', 'x', 'y', ...ANSWER], rows];
}

function size(bytes) {
  if (bytes == null) return '';
  return bytes < 1e6 ? `${number(Math.max(bytes / 1e3, 1))} kB` : `${number(bytes / 1e6, bytes < 1e7 ? 1 : 0)} MB`;
}

function group(heading, items) {
  return [make('h3', {}, heading), make('ul', {}, ...items.map((item) => make('li', {}, item)))];
}

export function mount(element, store, api) {
  const facts = store.release;
  const said = make('p', {class: 'sr', role: 'status'});
  const named = (what) => `${facts.id}-${what}`;

  const shown = {
    'Map as a picture (PNG)': () => downloadPng(named('map.png'), mapPicture(store)),
    'Map as a table (CSV)': () => downloadCsv(named('map.csv'), ...sliceTable(view.slice, facts)),
    'Curve as a picture (PNG)': () => {
      const picture = curvePicture(store);
      if (!picture) return 'Open the curve first';
      return downloadPng(named('curve.png'), picture);
    },
    'Curve as a table (CSV)': async () => {
      const {area} = store.get();
      downloadCsv(named('curve.csv'), ...seriesTable(await api.series({area}), facts));
    },
    'Highest cells as a table (CSV)': async () => {
      const {time} = store.get();
      downloadCsv(named('highest.csv'), ...highestTable(await api.highest({time, count: 10})));
    },
    'Copy a link to this view': async () => {
      const link = location.href.split('#')[0] + toHash(store.get());
      // Browsers let pages copy only where the connection is safe, which another computer's name without https is not.
      return navigator.clipboard?.writeText(link).then(() => 'Copied') ?? 'Copy it from the address bar';
    },
  };

  function item(name, act) {
    const note = make('small');
    const press = async () => {
      try {
        note.textContent = (await act()) ?? '';
      } catch (error) {
        note.textContent = error.message;
      }
      said.textContent = note.textContent;
    };
    return make('button', {type: 'button', onclick: press}, name, note);
  }

  const whole = ({format, name, bytes}) =>
    make('a', {href: api.download(format), download: ''}, NAMES[format] ?? name, make('small', {}, size(bytes)));

  element.querySelector('.sheet').append(
    ...group('What you see', Object.entries(shown).map(([name, act]) => item(name, act))),
    ...group('The whole release, with error bars', facts.downloads.map(whole)),
    said,
  );

  const close = () => element.removeAttribute('open');
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    close();
    element.querySelector('summary').focus();
  });
  document.addEventListener('pointerdown', ({target}) => {
    if (!element.contains(target)) close();
  });
  element.addEventListener('focusout', ({relatedTarget: to}) => {
    if (to && !element.contains(to)) close();
  });
}
