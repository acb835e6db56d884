/** The user's own borders, each with its consumption, the highest first. */

import {make} from './dom.js';
import {view} from './map.js';
import {near} from './overlay.js';
import {bar, barRange, csvButton, instants, sentence} from './panel.js';
import {ANSWER} from './table.js';
import {MOST_CORNERS, corners} from './state.js';
import {NINETY_FIVE, amount, figure, number, place, span, zoneName} from './words.js';

const MOST = 50;
const NONE = 'Lay a GeoJSON file with borders over the map: each of its areas is then listed here.';
const COLUMNS = ['Rank', 'Area', `Consumption, ${NINETY_FIVE} interval`];
const LIFTED = 'Areas whose intervals overlap may be in another order.';

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const all = [0, facts.axes.time.steps];
  let [turn, asked, found] = [0, '', []];

  const same = (one, other) => JSON.stringify(one?.polygons) === JSON.stringify(other?.polygons);

  function row({area, answer}, i, range) {
    const {low, high} = figure(answer);
    const value = make('b', {}, amount(answer));
    Object.assign(value.dataset, {value: answer.value, low: answer.low, high: answer.high});
    const onclick = () => store.set({area});
    const choose = make('button', {type: 'button', class: 'plain', 'data-area': i, onclick}, place(area));
    return make('tr', {},
      make('td', {class: 'rank'}, String(i + 1)),
      make('th', {scope: 'row'}, choose),
      make('td', {class: 'amount'}, value, make('span', {class: 'quiet'}, `${low} to ${high}`), bar(answer, range)));
  }

  function mark({area}) {
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (element.querySelectorAll('button[data-area]'))) {
      const chosen = Boolean(area?.polygons) && same(found[button.dataset.area].fitted, area);
      button.closest('tr').classList.toggle('chosen', chosen);
      button.setAttribute('aria-pressed', String(chosen));
    }
  }

  /** @returns {Table} */
  function rows() {
    const {period} = JSON.parse(asked);
    const when = instants(period, facts);
    const line = ({area, answer: {value, standard_error: error, low, high, area: {cells}}}) =>
      [place(area), cells, ...when, value, error, low, high];
    return [['area', 'cells', 'start', 'end', ...ANSWER], found.map(line)];
  }

  function show({period, zone}, notes) {
    found.sort((one, other) => other.answer.value - one.answer.value);
    const range = barRange(found.map(({answer}) => answer));
    const title = `Your areas, ${span(period, facts, zone)} (${zoneName(zone)})`;
    element.replaceChildren(
      make('div', {class: 'panel-head'}, make('p', {class: 'quiet'}, notes),
        found.length > 0 && csvButton('your areas', 'areas', facts, rows)),
      make('table', {class: 'highest own'},
        make('caption', {}, title),
        make('thead', {}, make('tr', {}, ...COLUMNS.map((name) => make('th', {scope: 'col'}, name)))),
        make('tbody', {}, ...found.map((each, i) => row(each, i, range)))),
      sentence(found.length > 1 ? LIFTED : ''));
    mark(store.get());
  }

  /** What is said above the table. */
  const notes = (many, long, off) => [
    many && `The first ${MOST} of ${number(many)} borders are listed.`,
    long && `${number(long)} left out, for ${long === 1 ? 'it has' : 'they have'} more than ${number(MOST_CORNERS)} corners.`,
    off && `${number(off)} left out, for no part of ${off === 1 ? 'it' : 'them'} is on the map.`,
  ].filter(Boolean).join(' ');

  /** Ask about one border after the other; who asks anew in between is answered instead. */
  async function look(question) {
    const mine = ++turn;
    const borders = view.shapes.filter(({area}) => area);
    const here = borders.filter((border) => near(border, facts.axes));
    const short = here.filter(({area}) => corners(area) <= MOST_CORNERS);
    found = [];
    let off = borders.length - here.length;
    element.setAttribute('aria-busy', 'true');
    try {
      for (const {area} of short.slice(0, MOST)) {
        try {
          const answer = await api.query({area, time: question.period});
          if (mine !== turn) return;
          found.push({area, answer, fitted: store.fitted(area)});
        } catch (error) {
          if (mine !== turn) return;
          if (error.status !== 422) throw error;
          off += 1;
        }
      }
      show(question, notes(short.length > MOST && short.length, here.length - short.length, off));
    } catch (error) {
      asked = '';
      if (!('status' in error)) throw error;
      element.replaceChildren();
    } finally {
      if (mine === turn) element.removeAttribute('aria-busy');
    }
  }

  function changed() {
    const {tab, period, zone} = store.get();
    if (tab !== 'areas') return;
    if (!view.shapes.some(({area}) => area)) {
      turn += 1;
      [asked, found] = ['', []];
      element.removeAttribute('aria-busy');
      element.replaceChildren(sentence(NONE));
      return;
    }
    const question = {period: period ?? all, zone};
    if (JSON.stringify(question) === asked) {
      mark(store.get());
      return;
    }
    asked = JSON.stringify(question);
    look(question);
  }

  document.addEventListener('borders', () => {
    asked = '';
    changed();
  });
  store.subscribe(changed);
  changed();
}
