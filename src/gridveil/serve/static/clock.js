/** The time that the map shows: play, pause, scrub, and how many steps are summed. */

import {icon, make} from './dom.js';
import {readZone} from './state.js';
import {duration, span, zoneName} from './words.js';

const FRAME = 160;
const AHEAD = 6;
const DAY = 86400;
const ICONS = {
  back: 'M11 2v12L3 8z', play: 'M4 2v12l10-6z', pause: 'M3 2h4v12H3zM9 2h4v12H9z', forward: 'M5 2v12l8-6z',
};

/**
 * How many steps each way of showing sums: one step, a day (where steps make up days), the whole window.
 * @param {TimeAxis} axis
 * @returns {Record<string, number>}
 */
export function lengths({steps, step_seconds: seconds}) {
  const day = DAY / seconds;
  const whole = Number.isInteger(day) && day > 1 && day < steps;
  return {step: 1, ...(whole && {day}), all: steps};
}

/**
 * The shown time that starts at or before a step, in pieces of so many steps; the last piece may be shorter.
 * @param {number} first
 * @param {number} length
 * @param {number} steps
 * @returns {Span}
 */
export function piece(first, length, steps) {
  const start = Math.floor(Math.min(Math.max(first, 0), steps - 1) / length) * length;
  return [start, Math.min(start + length, steps)];
}

/**
 * Which way of showing a range of steps is; 'marked' is any other.
 * @param {Span} time
 * @param {Facts} facts
 */
export function way(time, facts) {
  const {steps} = facts.axes.time;
  const known = Object.entries(lengths(facts.axes.time)).reverse();
  return known.find(([, length]) => String(piece(time[0], length, steps)) === String(time))?.[0] ?? 'marked';
}

function press(name, label, act, kind = '') {
  const attributes = {type: 'button', class: kind, title: label, 'aria-label': label, onclick: act};
  return make('button', attributes, icon(ICONS[name]));
}

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const {steps, step_seconds: seconds} = facts.axes.time;
  const sizes = lengths(facts.axes.time);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let playing = null;

  const now = make('p', {class: 'now'});
  const scrub = make('input', {type: 'range', class: 'scrub', min: 0, 'aria-label': 'Time shown on the map'});
  const show = make('select', {id: 'show', class: 'show', 'aria-label': 'How much time the map shows'});
  const zone = make('select', {class: 'zone', 'aria-label': 'Time zone of all times on this page'});
  const zones = make('datalist', {id: 'zones'});
  const other = make('input',
    {class: 'other-zone', list: 'zones', 'aria-label': 'Another time zone', placeholder: 'Europe/London', hidden: true,
      autocomplete: 'off', spellcheck: 'false'});
  const wrong = make('p', {class: 'wrong', role: 'alert', hidden: true});
  const one = `one ${duration(seconds)}`.replace(/^one (\d)/, '$1');
  const named = {step: one, day: 'one day', all: 'whole window', marked: 'marked period'};
  const back = press('back', 'One back', () => move(-1));
  const play = press('play', 'Play', () => (playing ? pause() : start()), 'play');
  const forward = press('forward', 'One forward', () => move(1));
  for (const control of [back, play, forward, scrub, show]) control.disabled = steps === 1;
  element.append(now, make('div', {class: 'zones'}, zone, other, zones), wrong,
    make('div', {class: 'steps'}, back, play, forward), scrub, show);

  const length = () => sizes[way(store.get().time, facts)] ?? 1;

  /** The next piece of time, from the beginning again after the end. */
  function next(by, from = store.get().time) {
    const size = length();
    const pieces = Math.ceil(steps / size);
    const at = Math.floor(from[0] / size) + by;
    return piece((((at % pieces) + pieces) % pieces) * size, size, steps);
  }

  function move(by) {
    pause();
    if (length() === steps) store.set({time: piece(by > 0 ? 0 : steps - 1, 1, steps)});
    else store.set({time: next(by)});
  }

  function pause() {
    clearTimeout(playing);
    playing = null;
    refresh();
  }

  /** Playing the whole window would stand still: it plays step by step. */
  function start() {
    if (['all', 'marked'].includes(way(store.get().time, facts))) store.set({time: [0, 1]});
    playing = setTimeout(tick, 0);
    refresh();
  }

  /** Ask for the next frames ahead, wait for the nearest, show it; a slow server slows the film, never breaks it. */
  async function tick() {
    const mine = playing;
    const began = performance.now();
    for (let ahead = 2; ahead <= AHEAD; ahead++) api.slice(next(ahead)).catch(() => {});
    try {
      const time = next(1);
      await api.slice(time);
      if (playing !== mine) return;
      store.set({time});
      playing = setTimeout(tick, Math.max(0, FRAME - (performance.now() - began)));
    } catch {
      pause();
    }
  }

  function refresh() {
    const {time, period, zone: chosen} = store.get();
    const shown = way(time, facts);
    now.replaceChildren(make('span', {class: 'quiet'}, 'The map shows: '), span(time, facts, chosen));
    const marked = period || shown === 'marked';
    const ways = Object.keys(named).filter((name) => name in sizes || (name === 'marked' && marked));
    show.replaceChildren(...ways.map((name) => new Option(named[name], name, false, name === shown)));
    scrub.step = String(shown === 'day' ? sizes.day : 1);
    scrub.max = String(shown === 'day' ? piece(steps - 1, sizes.day, steps)[0] : steps - 1);
    scrub.value = String(time[0]);
    scrub.setAttribute('aria-valuetext', span(time, facts, chosen));
    play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play));
    play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    play.title = playing ? 'Pause' : 'Play';
    const known = [...new Set(['UTC', own, chosen])];
    zone.replaceChildren(
      ...known.map((name) => new Option(zoneName(name), name, false, name === chosen && Boolean(other.hidden))),
      new Option('another …', '', false, !other.hidden));
  }

  scrub.addEventListener('input', () => {
    if (playing) pause();
    store.set({time: piece(Number(scrub.value), length() === steps ? 1 : length(), steps)});
  });
  show.addEventListener('change', () => {
    const chosen = show.value;
    const {time, period} = store.get();
    pause();
    store.set({time: chosen === 'marked' ? (period ?? time) : piece(time[0], sizes[chosen], steps)});
  });
  function ask(asking, sentence = '') {
    other.hidden = !asking;
    wrong.hidden = !sentence;
    wrong.textContent = sentence;
    refresh();
  }
  zone.addEventListener('change', () => {
    if (zone.value) {
      store.set({zone: zone.value});
      return ask(false);
    }
    if (!zones.children.length) zones.append(...Intl.supportedValuesOf('timeZone').map((name) => new Option(name)));
    other.value = '';
    ask(true);
    return other.focus();
  });
  other.addEventListener('change', () => {
    const name = readZone(other.value.trim());
    if (!name) return ask(true, `There is no time zone “${other.value.trim()}”. Names are such as Europe/London.`);
    store.set({zone: name});
    return ask(false);
  });
  store.subscribe(refresh);
  refresh();
}
