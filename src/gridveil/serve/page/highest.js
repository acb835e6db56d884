/** The ten highest cells of a period, and whether their order is certain. */

import {make} from './dom.js';
import {ANSWER, bar, barRange, csvButton, follow, instants, sentence} from './panel.js';
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

/** What single cells' 95 % intervals say about a cell's place among all cells. */
export function placeInWords([from, to]) {
  if (from === to) return from === 1 ? 'certainly the highest' : `certainly ${ordinal(from)}`;
  return `somewhere between ${ordinal(from)} and ${ordinal(to)}`;
}

/** Of how many of the cells the place is certain. */
function orderInWords(certain, count) {
  if (certain === count) return `Going by their ${NINETY_FIVE} intervals, the order is certain.`;
  const known = `the place of ${certain || 'none'} of these cells is certain`;
  return `Going by the cells’ ${NINETY_FIVE} intervals, ${known}; ` +
    'intervals that overlap may stand for any order.';
}

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
    for (const button of element.querySelectorAll('button[data-x]')) {
      const {x, y} = button.dataset;
      const chosen = area?.x && [area.x, area.y].flat().join() === [x, +x + 1, y, +y + 1].join();
      button.closest('tr').classList.toggle('chosen', Boolean(chosen));
      button.setAttribute('aria-pressed', String(Boolean(chosen)));
    }
  }

  function rows() {
    const names = ['rank', 'x', 'y', 'start', 'end', ...ANSWER, 'place_from', 'place_to'];
    const when = instants([shown.time.first, shown.time.last], facts);
    return [names, shown.cells.map((cell, i) => [
      i + 1, cell.x, cell.y, ...when, cell.value, cell.standard_error, cell.low, cell.high, ...cell.place,
    ])];
  }

  function show(answer, {marked, zone}) {
    shown = answer;
    const {cells, time} = answer;
    const range = barRange(cells);
    const equal = cells.length > 1 && cells.at(-1).value > cells[0].value * (1 - 1e-6);
    const certain = cells.filter(({place: [from, to]}) => from === to).length;
    const when = `${span([time.first, time.last], facts, zone)} (${zoneName(zone)})`;
    const title = `The ${cells.length === COUNT ? 'ten' : cells.length} highest cells, ${when}`;
    element.replaceChildren(
      make('div', {class: 'panel-head'},
        sentence(marked ? 'In the period marked on the curve.' : 'In the period shown on the map.'),
        csvButton('the highest cells', `${facts.id}-highest`, rows)),
      make('table', {class: 'highest'},
        make('caption', {}, title),
        make('thead', {}, make('tr', {}, ...COLUMNS.map((name) => make('th', {scope: 'col'}, name)))),
        make('tbody', {}, ...cells.map((cell, i) => row(cell, i, range)))),
      sentence(equal ? EQUAL : orderInWords(certain, cells.length)),
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
