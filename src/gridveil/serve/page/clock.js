/** The time that the map shows: play, pause, scrub, and how many steps are summed. */

import {icon, make} from './dom.js';
import {duration, span, zoneName} from './words.js';

const FRAME = 160;
const AHEAD = 6;
const DAY = 86400;
const ICONS = {
  back: 'M11 2v12L3 8z', play: 'M4 2v12l10-6z', pause: 'M3 2h4v12H3zM9 2h4v12H9z', forward: 'M5 2v12l8-6z',
};

/** How many steps each way of showing sums: one step, a day (where steps make up days), the whole window. */
export function lengths({steps, step_seconds: seconds}) {
  const day = DAY / seconds;
  const whole = Number.isInteger(day) && day > 1 && day < steps;
  return {step: 1, ...(whole && {day}), all: steps};
}

/** The shown time that starts at or before a step, in pieces of so many steps; the last piece may be shorter. */
export function piece(first, length, steps) {
  const start = Math.floor(Math.min(Math.max(first, 0), steps - 1) / length) * length;
  return [start, Math.min(start + length, steps)];
}

/** Which way of showing a range of steps is; 'marked' is any other. */
export function way(time, facts) {
  const {steps} = facts.axes.time;
  const known = Object.entries(lengths(facts.axes.time)).reverse();
  return known.find(([, length]) => String(piece(time[0], length, steps)) === String(time))?.[0] ?? 'marked';
}

function press(name, label, act, kind = '') {
  const attributes = {type: 'button', class: kind, title: label, 'aria-label': label, onclick: act};
  return make('button', attributes, icon(ICONS[name]));
}

export function mount(element, store, api) {
  const facts = store.release;
  const {steps, step_seconds: seconds} = facts.axes.time;
  const sizes = lengths(facts.axes.time);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  let playing = null;

  const now = make('p', {class: 'now'});
  const scrub = make('input', {type: 'range', class: 'scrub', min: 0, 'aria-label': 'Time shown on the map'});
  const show = make('select', {id: 'show', class: 'show', 'aria-label': 'How much time the map shows'});
  const zone = make('button', {type: 'button', class: 'zone'});
  const one = `one ${duration(seconds)}`.replace(/^one (\d)/, '$1');
  const named = {step: one, day: 'one day', all: 'whole window', marked: 'marked period'};
  const back = press('back', 'One back', () => move(-1));
  const play = press('play', 'Play', () => (playing ? pause() : start()), 'play');
  const forward = press('forward', 'One forward', () => move(1));
  for (const control of [back, play, forward, scrub, show]) control.disabled = steps === 1;
  element.append(now, zone, make('div', {class: 'steps'}, back, play, forward), scrub, show);

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
    now.textContent = span(time, facts, chosen);
    const marked = period || shown === 'marked';
    const ways = Object.keys(named).filter((name) => name in sizes || (name === 'marked' && marked));
    show.replaceChildren(...ways.map((name) => new Option(named[name], name, false, name === shown)));
    scrub.step = shown === 'day' ? sizes.day : 1;
    scrub.max = shown === 'day' ? piece(steps - 1, sizes.day, steps)[0] : steps - 1;
    scrub.value = time[0];
    scrub.setAttribute('aria-valuetext', now.textContent);
    play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play));
    play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    play.title = playing ? 'Pause' : 'Play';
    zone.hidden = own === 'UTC' && chosen === 'UTC';
    zone.textContent = zoneName(chosen);
    zone.title = `Times are in ${zoneName(chosen)}; press to change`;
    zone.setAttribute('aria-label', zone.title);
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
  zone.addEventListener('click', () => store.set({zone: store.get().zone === 'UTC' ? own : 'UTC'}));
  store.subscribe(refresh);
  refresh();
}
