/** Opens a release and wires the page together. */

import {api, Refusal} from './api.js';
import {store, fromHash, moved, toHash} from './state.js';
import {date, dates, duration, instant, joined, number} from './words.js';
import * as answer from './answer.js';
import * as areas from './areas.js';
import * as clock from './clock.js';
import * as compare from './compare.js';
import * as curve from './curve.js';
import * as highest from './highest.js';
import * as label from './label.js';
import * as limits from './limits.js';
import * as map from './map.js';
import * as overlay from './overlay.js';
import * as pick from './pick.js';
import * as profile from './profile.js';
import * as save from './save.js';
import * as tabs from './tabs.js';

/** @type {Record<string, {mount: Mount<any>}>} by the id of their element */
const PARTS = {
  tabs,
  map,
  tools: pick,
  clock,
  overlay,
  limits,
  answer,
  'panel-curve': curve,
  'panel-profile': profile,
  'panel-highest': highest,
  'panel-compare': compare,
  'panel-areas': areas,
  label,
  save,
};
const NOT_STATED = 'not stated';
const at = (id) => document.getElementById(id);

/** @param {string | null} sentence */
function say(sentence) {
  at('trouble').textContent = sentence ?? '';
  at('trouble').hidden = !sentence;
}

/**
 * Offer the releases where there are several; another one is a fresh page, so nothing of the old one can linger.
 * @param {Brief[]} releases
 * @param {string} chosen
 */
function offer(releases, chosen) {
  if (releases.length < 2) return;
  const alike = ({title}) => releases.filter((each) => each.title === title).length > 1;
  const named = (each) => (each.title && !alike(each) ? each.title : [each.title, each.id].filter(Boolean).join(' · '));
  at('release').replaceChildren(...releases.map((each) => new Option(named(each), each.id, false, each.id === chosen)));
  at('release').addEventListener('change', async (event) => {
    const {value} = /** @type {HTMLSelectElement} */ (event.target);
    const other = await api.facts(value).catch(() => null);
    location.hash = toHash(other ? moved(store.get(), store.release, other) : {release: value});
    location.reload();
  });
  at('chooser').hidden = false;
}

/**
 * What of a link's view is not on this map.
 * @param {View} asked
 * @param {string | null} written
 */
function lost(asked, written) {
  const {area} = asked;
  if (written && !area) return 'The link’s area cannot be read; the whole map is shown.';
  if (!area || area.polygons || String([area.x, area.y]) === String([store.get().area?.x, store.get().area?.y])) return '';
  return store.get().area
    ? 'The link’s area goes beyond this map; only the part on the map is marked.'
    : 'The link’s area lies outside this map; the whole map is shown.';
}

/** @param {Facts} facts */
function head(facts) {
  const {time, x, y} = facts.axes;
  const [from, to] = [instant(0, facts), new Date(Number(instant(time.steps, facts)) - 1)];
  document.title = `${facts.title || facts.id} · gridveil`;
  at('title').textContent = facts.title || facts.id;
  const grid = `${number(x.size)} × ${number(y.size)} cells, every ${duration(time.step_seconds)}`;
  const publisher = facts.publisher === NOT_STATED ? '' : facts.publisher;
  const by = [publisher, facts.published && date(new Date(facts.published))].filter(Boolean).join(', ');
  const about = [`Household electricity, ${dates(from, to)}`, grid, by && (publisher ? `by ${by}` : `published ${by}`)];
  at('about').textContent = about.filter(Boolean).join(' · ');
  at('errors-say').textContent = joined(facts.error_bars);
}

async function open() {
  api.onTrouble(say);
  const {releases} = await api.releases();
  if (!releases.length) throw new Refusal('No release to show. Start the server with one: gridveil serve RELEASE');
  const view = fromHash(location.hash);
  const written = new URLSearchParams(location.hash.slice(1)).get('area');
  const asked = view.release;
  const {id} = releases.find((each) => each.id === asked) ?? releases[0];
  if (asked && asked !== id) history.replaceState(null, '', toHash({release: id}));
  offer(releases, id);
  api.use(id);
  const facts = await api.facts();
  head(facts);
  store.open(facts);
  document.body.classList.remove('opening');
  for (const [name, part] of Object.entries(PARTS)) {
    try {
      part.mount(at(name), store, api);
    } catch (error) {
      reportError(error); // one broken part must not take the others along
    }
  }
  const named = facts.title || id;
  const missing = lost(view, written);
  if (missing) say(missing);
  if (asked && asked !== id) say(`The link is about “${asked}”, which is not served here. This is “${named}”.`);
}

open().catch((error) => {
  if (at('trouble').hidden) say(error.message);
  at('title').textContent = 'No release is open';
  if (!(error instanceof Refusal)) throw error;
});
