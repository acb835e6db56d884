/** Questions to the server. Answers are kept for a while; what fails is said in a sentence. */

const GONE = 'The server does not answer. Start it again with “gridveil serve”, then reload this page.';
const BROKEN = 'The server had a fault with this question. Reload the page; if it stays, tell who runs the server.';
const KEPT = 80;

/** What the server refused, with its own sentence. */
export class Refusal extends Error {
  /**
   * @param {string} sentence
   * @param {number} [status]
   */
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

const kept = new Map();
const listeners = new Set();
let release = '';

let troubled = false;

/**
 * Tell listeners of trouble, and once that it is over.
 * @param {string | null} sentence
 */
function tell(sentence) {
  if (!sentence && !troubled) return;
  troubled = Boolean(sentence);
  for (const listener of listeners) listener(sentence);
}

/**
 * Return what a promise gives, asking once for the same key; what fails is asked again next time.
 * @param {string} key
 * @param {() => Promise<any>} ask
 */
function once(key, ask) {
  if (!kept.has(key)) {
    const answer = ask();
    kept.set(key, answer);
    answer.catch(() => kept.delete(key));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  const answer = kept.get(key);
  kept.delete(key);
  kept.set(key, answer);
  return answer;
}

/**
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<Response>}
 */
async function request(path, body) {
  let response;
  try {
    const post = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
    response = await fetch(path, body ? post : undefined);
  } catch {
    tell(GONE);
    throw new Refusal(GONE, 0);
  }
  tell(null);
  if (response.ok) return response;
  const {detail} = await response.json().catch(() => ({}));
  const otherwise = response.status >= 500 ? BROKEN : 'The server cannot answer that.';
  throw new Refusal(typeof detail === 'string' ? detail : otherwise, response.status);
}

/**
 * @param {string} path
 * @param {object} [body]
 */
const json = (path, body) =>
  once(path + JSON.stringify(body ?? ''), async () => (await request(path, body)).json());

/**
 * Polygons as GeoJSON, their rings closed.
 * @param {Ring[][]} polygons
 */
export function geometry(polygons) {
  const closed = polygons.map((polygon) => polygon.map((ring) => [...ring, ring[0]]));
  const single = closed.length === 1;
  return {type: single ? 'Polygon' : 'MultiPolygon', coordinates: single ? closed[0] : closed};
}

/**
 * Ask about an area: boxes as a GET that browsers can cache, polygons as a POST, for they may be long.
 * @param {string} what
 * @param {Question} [question]
 */
function ask(what, {area = null, time = null, ...more} = {}) {
  const path = `/api/releases/${release}/${what}`;
  const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value != null));
  if (area?.polygons) return json(path, {polygon: geometry(area.polygons), ...(time && {time}), ...given});
  const query = new URLSearchParams(/** @type {Record<string, string>} */ (given));
  if (area) query.set('x', area.x.join(':'));
  if (area) query.set('y', area.y.join(':'));
  if (time) query.set('time', time.join(':'));
  return json(`${path}?${query}`);
}

/**
 * The four planes of a slice: value, error, low, high, row by row from the south-west cell.
 * @param {ArrayBuffer} buffer
 * @param {number[]} shape rows and columns
 * @returns {Omit<Slice, 'time'>}
 */
function readPlanes(buffer, [ny, nx]) {
  const size = nx * ny;
  const plane = (n) => new Float32Array(buffer, 4 * size * n, size);
  return {nx, ny, value: plane(0), error: plane(1), low: plane(2), high: plane(3)};
}

/** @type {Api} */
export const api = {
  /** All further questions are about this release. */
  use(id) {
    release = encodeURIComponent(id);
  },
  releases: () => json('/api/releases'),
  /** The facts of this release, or of another one. */
  facts: (id = null) => json(`/api/releases/${id === null ? release : encodeURIComponent(id)}`),
  /** @param {[number, number]} time steps; half-open */
  slice(time) {
    const path = `/api/releases/${release}/slice?time=${time.join(':')}&format=float32`;
    return once(path, async () => {
      const response = await request(path);
      const shape = response.headers.get('X-Gridveil-Shape').split(',').map(Number);
      return {...readPlanes(await response.arrayBuffer(), shape), time};
    });
  },
  /** {area, time}: state's area (or null) and a range of steps (or null for all). */
  query: (question) => ask('query', question),
  /** {area, time, every} */
  series: (question) => ask('series', question),
  /** {area, timezone} */
  profile: (question) => ask('profile', question),
  /** {time, count} */
  highest: (question) => ask('highest', question),
  /** Address of a whole-release download. */
  download: (format) => `/api/releases/${release}/download/${encodeURIComponent(format)}`,
  /** Be told a sentence when the server is gone or broken, and null when it answers again. */
  onTrouble(listener) {
    listeners.add(listener);
  },
};
