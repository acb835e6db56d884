/** The ten highest cells of a period, and which places intervals allow them. */

import {make} from './dom.js';
import {bar, barRange, csvButton, follow, sentence} from './panel.js';
import {highestTable} from './table.js';
import {NINETY_FIVE, amount, figure, span, zoneName} from './words.js';

const COUNT = 10;
const COLUMNS = ['Rank', 'Cell', `Consumption, ${NINETY_FIVE} interval`, 'Place among all cells'];
const EQUAL = 'These cells have the same value: none of them stands out, and others may have it too.';
const LIFTED =
  'The highest of many uncertain values tend to be overestimates: uncertainty lifted some of them to the top.';

/** "1st", "2nd", "11th", "23rd" */
export function ordinal(rank) {
  const teen = rank % 100 > 10 && rank % 100 < 14;
  return `${rank.toLocaleString('en')}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][rank % 10] ?? 'th')}`;
}

/** What intervals that hold together say about a cell's place among all cells. */
export function placeInWords([from, to]) {
  if (from === to) return `${from === 1 ? 'first' : ordinal(from)}, if all intervals hold`;
  return `somewhere between ${ordinal(from)} and ${ordinal(to)}`;
}

/** What the places mean for the order. */
function orderInWords(settled, count) {
  if (settled === count) return 'If all intervals hold (widened so that they do together), this is the true order.';
  if (!settled) {
    return 'Their order is open, even if all intervals hold (widened so that they do together): intervals overlap, ' +
      'so the true order may be another one, and cells that are not in this list may belong in it.';
  }
  return 'Places are those if all intervals hold (widened so that they do together); ' +
    `${settled} of these cells then ${settled === 1 ? 'has' : 'have'} no other place, the others may change places.`;
}

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  let shown = null;

  function row(cell, i, range) {
    const {x, y, place} = cell;
    const {low, high} = figure(cell);
    const value = make('b', {}, amount(cell));
    Object.assign(value.dataset, {value: cell.value, low: cell.low, high: cell.high});
    const choose = make('button', {
      type: 'button', class: 'plain', 'data-x': x, 'data-y': y, 'aria-label': `Mark cell x ${x}, y ${y}`,
      onclick: () => store.set({area: {x: [x, x + 1], y: [y, y + 1]}}),
    }, `x ${x}, y ${y}`);
    return make('tr', {},
      make('td', {class: 'rank'}, String(i + 1)),
      make('th', {scope: 'row'}, choose),
      make('td', {class: 'amount'}, value, make('span', {class: 'quiet'}, `${low} to ${high}`), bar(cell, range)),
      make('td', {class: 'order'}, placeInWords(place)));
  }

  function mark({area}) {
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll('button[data-x]'))) {
      const {x, y} = button.dataset;
      const chosen = area?.x && [area.x, area.y].flat().join() === [x, +x + 1, y, +y + 1].join();
      button.closest('tr').classList.toggle('chosen', Boolean(chosen));
      button.setAttribute('aria-pressed', String(Boolean(chosen)));
    }
  }

  /**
   * @param {Highest} answer
   * @param {{time: Span, marked: boolean, zone: string}} question
   */
  function show(answer, {marked, zone}) {
    shown = answer;
    const {cells, time} = answer;
    const range = barRange(cells);
    const equal = cells.length > 1 && cells.at(-1).value > cells[0].value * (1 - 1e-6);
    const settled = cells.filter(({place: [from, to]}) => from === to).length;
    const when = `${span([time.first, time.last], facts, zone)} (${zoneName(zone)})`;
    const title = `The ${cells.length === COUNT ? 'ten' : cells.length} highest cells, ${when}`;
    element.replaceChildren(
      make('div', {class: 'panel-head'},
        sentence(marked ? 'In the period marked on the curve.' : 'In the period shown on the map.'),
        csvButton('the highest cells', 'highest', facts, () => highestTable(shown, facts))),
      make('table', {class: 'highest'},
        make('caption', {}, title),
        make('thead', {}, make('tr', {}, ...COLUMNS.map((name) => make('th', {scope: 'col'}, name)))),
        make('tbody', {}, ...cells.map((cell, i) => row(cell, i, range)))),
      sentence(equal ? EQUAL : orderInWords(settled, cells.length)),
      sentence(LIFTED),
    );
    mark(store.get());
  }

  follow(store, element, {
    question({tab, time, period, zone}) {
      return tab === 'highest' ? {time: period ?? time, marked: Boolean(period), zone} : null;
    },
    ask: ({time}) => api.highest({time, count: COUNT}),
    show,
    fail: (text) => element.replaceChildren(sentence(text, 'trouble')),
    wait: 150,  // while time plays, only where it rests
  });
  store.subscribe(mark);
}
