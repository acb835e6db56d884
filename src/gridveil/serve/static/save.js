/** What is shown as files: tables (CSV), pictures (PNG), the whole release; and a link to the view. */

import {make} from './dom.js';
import {view} from './map.js';
import {curvePicture, mapPicture} from './picture.js';
import {toHash} from './state.js';
import {downloadCsv, give, highestTable, seriesTable, sliceTable} from './table.js';
import {number} from './words.js';

/** Hand a canvas to the user as a picture. */
export const downloadPng = (name, canvas) => canvas.toBlob((blob) => give(name, blob), 'image/png');

function size(bytes) {
  if (bytes == null) return '';
  return bytes < 1e6 ? `${number(Math.max(bytes / 1e3, 1))} kB` : `${number(bytes / 1e6, bytes < 1e7 ? 1 : 0)} MB`;
}

function group(heading, items) {
  return [make('h3', {}, heading), make('ul', {}, ...items.map((item) => make('li', {}, item)))];
}

/** @type {Mount<HTMLDetailsElement>} */
export function mount(element, store, api) {
  const facts = store.release;
  const said = make('p', {class: 'sr', role: 'status'});
  const named = (what) => `${facts.id}-${what}`;

  const shown = {
    'Map as a picture (PNG)': () => downloadPng(named('map.png'), mapPicture(store)),
    'Map as a table (CSV)': () => downloadCsv(named('map.csv'), facts, ...sliceTable(view.slice, facts)),
    'Curve as a picture (PNG)': async () => downloadPng(named('curve.png'), await curvePicture(store, api)),
    'Curve as a table (CSV)': async () => {
      const {area} = store.get();
      downloadCsv(named('curve.csv'), facts, ...seriesTable(await api.series({area}), facts));
    },
    'Highest cells as a table (CSV)': async () => {
      const {time, period} = store.get();
      const highest = await api.highest({time: period ?? time, count: 10});  // as the panel shows them
      downloadCsv(named('highest.csv'), facts, ...highestTable(highest, facts));
    },
    'Copy a link to this view': () => {
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

  const whole = ({format, description, bytes}) =>
    make('a', {href: api.download(format), download: ''}, description, make('small', {}, size(bytes)));

  element.querySelector('.sheet').append(
    ...group('What you see', Object.entries(shown).map(([name, act]) => item(name, act))),
    // A long series has no files here: its releases have, each in its own folder.
    ...(facts.downloads.length ? group('The whole release, with error bars', facts.downloads.map(whole)) : []),
    said,
  );

  const close = () => element.removeAttribute('open');
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    close();
    element.querySelector('summary').focus();
  });
  document.addEventListener('pointerdown', ({target}) => {
    if (!element.contains(/** @type {Node} */ (target))) close();
  });
  element.addEventListener('focusout', ({relatedTarget: to}) => {
    if (to && !element.contains(/** @type {Node} */ (to))) close();
  });
}
