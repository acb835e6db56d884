/** What is shown as files: tables (CSV), pictures (PNG), the whole release, and a link. */

import {marks, palette, position} from './colour.js';
import {frame} from './frame.js';
import {scene, theme, view} from './map.js';
import {paint} from './paint.js';
import {toHash} from './state.js';
import {duration, instant, number, place, span, zoneName} from './words.js';

const NAMES = {
  netcdf: 'NetCDF, with everything', label: 'Privacy label', csv: 'CSV table', parquet: 'Parquet table', geojson: 'GeoJSON map',
  geoparquet: 'GeoParquet map', xlsx: 'Excel workbook', zarr: 'Zarr store (zip)',
};
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

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
  const link = Object.assign(document.createElement('a'), {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Hand a table to the user as a file. */
export const downloadCsv = (name, columns, rows) => give(name, new Blob([csv(columns, rows)], {type: 'text/csv;charset=utf-8'}));

/** Hand a canvas to the user as a picture. */
export const downloadPng = (name, canvas) => canvas.toBlob((blob) => give(name, blob), 'image/png');

const iso = (date) => date.toISOString().replace('.000Z', 'Z');
const ANSWER = ['kwh', 'standard_error_kwh', 'low_95_kwh', 'high_95_kwh'];

/** Every cell of the map: where it is, when, and how much. */
export function sliceTable({nx, time, value, error, low, high}, facts) {
  const [from, to] = time.map((step) => iso(instant(step, facts)));
  const rows = Array.from(value, (kwh, n) => [n % nx, Math.floor(n / nx), from, to, kwh, error[n], low[n], high[n]]);
  return [['x', 'y', 'start', 'end', ...ANSWER], rows];
}

/** The curve of the area. */
export function seriesTable({first, every, time, value, standard_error: error, low, high}, facts) {
  const end = (n) => Math.min(first[n] + every, time.last);
  const rows = value.map((kwh, n) => [iso(instant(first[n], facts)), iso(instant(end(n), facts)), kwh, error[n], low[n], high[n]]);
  return [['start', 'end', ...ANSWER], rows];
}

/** The highest cells and which places are possible. */
export function highestTable({cells}) {
  const rows = cells.map(({x, y, value, standard_error: error, low, high, place: [from, to]}, n) => [n + 1, from, to, x, y, value, error, low, high]);
  return [['place', 'place_from', 'place_to', 'x', 'y', ...ANSWER], rows];
}

/** A sheet with a title above and a line below, for pictures that go into a report. */
function sheet(facts, width, height, ratio, about) {
  const canvas = Object.assign(document.createElement('canvas'), {width: width * ratio, height: height * ratio});
  const ctx = canvas.getContext('2d');
  const colours = theme();
  ctx.scale(ratio, ratio);
  ctx.fillStyle = colours.card;
  ctx.fillRect(0, 0, width, height);
  ctx.textBaseline = 'top';
  ctx.fillStyle = colours.ink;
  ctx.font = `650 20px ${FONT}`;
  ctx.fillText(facts.title || facts.id, 24, 20, width - 48);
  ctx.fillStyle = colours.quiet;
  ctx.font = `13px ${FONT}`;
  ctx.fillText(about, 24, 48, width - 48);
  const privacy = facts.private ? `differential privacy, epsilon ${number(facts.privacy.epsilon, 2).replace(/\.?0+$/, '')}` : 'NOT PRIVATE (test noise)';
  ctx.fillText([facts.publisher, facts.published, privacy, 'gridveil'].filter(Boolean).join(' · '), 24, height - 30, width - 48);
  return {canvas, ctx, colours};
}

/** The map with title, period, legend and epsilon drawn in. */
export function mapPicture(store) {
  const facts = store.release;
  const state = store.get();
  const [width, ratio] = [900, 2];
  const at = frame(facts, width - 32, 760);
  const about = `${span(state.time, facts, state.zone)} (${zoneName(state.zone)})`;
  const {canvas, ctx, colours} = sheet(facts, width, at.height + 204, ratio, about);
  ctx.save();
  ctx.translate(16, 80);
  paint(ctx, scene(store, at, ratio), colours);
  ctx.restore();
  const [x, y, w] = [16 + at.box.x, 80 + at.height + 32, at.box.w];
  palette(matchMedia('(prefers-color-scheme: dark)').matches).forEach((colour, n, {length}) => {
    ctx.fillStyle = `rgb(${colour.join(' ')})`;
    ctx.fillRect(x + (n * w) / length, y, w / length + 0.6, 12);
  });
  ctx.fillStyle = colours.quiet;
  ctx.font = `12px ${FONT}`;
  ctx.textBaseline = 'top';
  ctx.fillText(`Average use of a cell per ${duration(facts.axes.time.step_seconds)}; hatched: the 95 % interval is wider than the value`, x, y - 20, w);
  const {top} = facts.scale;
  for (const value of marks(top)) {
    ctx.textAlign = value === top ? 'right' : value ? 'center' : 'left';
    ctx.fillText(`${Number(value.toPrecision(2))}${value === top ? ' kWh or more' : ''}`, x + position(value, top) * w, y + 17);
  }
  return canvas;
}

/** The curve as it is drawn, with title and area. */
export function curvePicture(store) {
  const drawn = document.querySelector('#panel-curve canvas');
  if (!drawn || !drawn.width || !drawn.offsetWidth) return null;
  const ratio = drawn.width / drawn.offsetWidth;
  const facts = store.release;
  const {area, zone} = store.get();
  const unit = document.querySelector('#panel-curve .unit')?.textContent ?? 'kWh';
  const about = `${place(area)[0].toUpperCase()}${place(area).slice(1)} (${zoneName(zone)}) · ${unit}`;
  const {canvas, ctx} = sheet(facts, drawn.offsetWidth + 32, drawn.offsetHeight + 130, ratio, about);
  ctx.drawImage(drawn, 16, 80, drawn.offsetWidth, drawn.offsetHeight);
  return canvas;
}

export function mount(element, store, api) {
  const sheetOf = element.querySelector('.sheet');
  const facts = store.release;
  const said = Object.assign(document.createElement('p'), {className: 'sr'});
  said.setAttribute('role', 'status');

  const shown = {
    'Map as a picture (PNG)': () => downloadPng(`${facts.id}-map.png`, mapPicture(store)),
    'Map as a table (CSV)': () => downloadCsv(`${facts.id}-map.csv`, ...sliceTable(view.slice, facts)),
    'Curve as a picture (PNG)': () => {
      const picture = curvePicture(store);
      if (picture) downloadPng(`${facts.id}-curve.png`, picture);
      else throw new Error('Open the curve first, then save it.');
    },
    'Curve as a table (CSV)': async () => {
      const {area} = store.get();
      downloadCsv(`${facts.id}-curve.csv`, ...seriesTable(await api.series({area}), facts));
    },
    'Highest cells as a table (CSV)': async () => {
      const {time} = store.get();
      downloadCsv(`${facts.id}-highest.csv`, ...highestTable(await api.highest({time, count: 10})));
    },
    'Copy a link to this view': async () => {
      await navigator.clipboard.writeText(location.href.split('#')[0] + toHash(store.get()));
      return 'Copied';
    },
  };

  function item(name, act) {
    const button = Object.assign(document.createElement('button'), {type: 'button', textContent: name});
    const note = document.createElement('small');
    button.append(note);
    button.addEventListener('click', async () => {
      try {
        note.textContent = (await act()) ?? '';
      } catch (error) {
        note.textContent = name.startsWith('Copy') ? 'Copy it from the address bar' : error.message;
      }
      said.textContent = note.textContent;
    });
    return button;
  }

  const size = (bytes) => (bytes == null ? '' : bytes < 1e6 ? `${number(Math.max(bytes / 1e3, 1))} kB` : `${number(bytes / 1e6, bytes < 1e7 ? 1 : 0)} MB`);
  function whole({format, name, bytes}) {
    const link = Object.assign(document.createElement('a'), {href: api.download(format), download: '', textContent: NAMES[format] ?? name});
    link.append(Object.assign(document.createElement('small'), {textContent: size(bytes)}));
    return link;
  }

  const group = (heading, children) => {
    const list = document.createElement('ul');
    list.append(...children.map((child) => {
      const entry = document.createElement('li');
      entry.append(child);
      return entry;
    }));
    return [Object.assign(document.createElement('h3'), {textContent: heading}), list];
  };
  sheetOf.append(
    ...group('What you see', Object.entries(shown).map(([name, act]) => item(name, act))),
    ...group('The whole release, with error bars', facts.downloads.map(whole)),
    said,
  );

  const close = () => {
    element.open = false;
  };
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    close();
    element.querySelector('summary').focus();
  });
  document.addEventListener('pointerdown', (event) => !element.contains(event.target) && close());
  element.addEventListener('focusout', (event) => event.relatedTarget && !element.contains(event.relatedTarget) && close());
}
