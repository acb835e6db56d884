// Lines with their 95 % bands, drawn by uPlot in the page's colours. Nothing here knows what is shown.

const scheme = matchMedia('(prefers-color-scheme: dark)');

/** The page's colours as they are now; canvas does not follow CSS by itself. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = name => style.getPropertyValue(name).trim();
  return {ink: of('--ink'), quiet: of('--quiet'), line: of('--line'), a: of('--released'), b: of('--other')};
}

/** A colour as uPlot's canvas takes it, with an opacity from 0 to 1. */
export function faded(colour, opacity) {
  const context = document.createElement('canvas').getContext('2d');
  context.fillStyle = colour;  // any CSS colour comes back as #rrggbb
  const hex = Math.round(255 * opacity).toString(16).padStart(2, '0');
  return String(context.fillStyle).startsWith('#') ? context.fillStyle + hex : colour;
}

/** Labels of a time axis: hours, and the date where a day begins; or dates, and the year where one begins. */
export function timeLabels(zone) {
  const format = options => new Intl.DateTimeFormat('en-GB', {timeZone: zone, ...options});
  const clock = format({hour: '2-digit', minute: '2-digit'});
  const day = format({day: 'numeric', month: 'short'});
  const month = format({month: 'short'});
  const year = format({year: 'numeric'});
  return (_, splits, __, ___, increment) => {
    let [lastDay, lastYear] = ['', ''];
    return splits.map(seconds => {
      const date = new Date(1000 * seconds);
      const [newDay, newYear] = [day.format(date), year.format(date)];
      const first = increment < 86400 ? clock.format(date) : increment < 28 * 86400 ? newDay : month.format(date);
      const below = increment < 86400 ? (newDay !== lastDay ? newDay : '') : newYear !== lastYear ? newYear : '';
      [lastDay, lastYear] = [newDay, newYear];
      return below ? `${first}\n${below}` : first;
    });
  };
}

/** Labels of a kWh axis: no more decimals than its marks need. */
export function amountLabels(_, splits) {
  const gap = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : Math.abs(splits[0] ?? 1);
  const decimals = gap > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(gap) - 1e-9))) : 0;
  const digits = {minimumFractionDigits: decimals, maximumFractionDigits: decimals};
  return splits.map(value => value.toLocaleString('en', digits));
}

/** Where a kWh axis starts and ends: zero is always on it, so that heights can be compared. */
export function amountRange(_, low, high) {
  const [bottom, top] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  const room = (top - bottom || 1) * 0.06;
  return [bottom < 0 ? bottom - room : 0, top > 0 ? top + room : top || 1];
}

function series(line, palette, scale) {
  const stroke = palette[line.colour];
  const edge = {stroke: 'transparent', width: 0, points: {show: false}};
  return [edge, edge, {stroke, width: 2 * scale, dash: line.dash, points: {show: false}}];
}

/** What uPlot is told; `scale` makes everything so many times as large, for pictures. */
function options(spec, size, scale = 1) {
  const palette = colours();
  const axis = {
    stroke: palette.quiet, font: `${12 * scale}px system-ui, sans-serif`,
    grid: {stroke: palette.line, width: scale}, ticks: {stroke: palette.line, width: scale, size: 4 * scale},
  };
  return {
    ...size,
    padding: [10, 20, 0, 0].map((side) => side * scale),
    legend: {show: false},
    cursor: {drag: {x: false, y: false, setScale: false}, y: false, points: {show: false}},
    tzDate: seconds => uPlot.tzDate(new Date(1000 * seconds), spec.zone ?? 'UTC'),
    scales: {x: {time: Boolean(spec.zone), range: () => spec.range}, y: {range: amountRange}},
    series: [{}, ...spec.lines.flatMap(line => series(line, palette, scale))],
    bands: spec.lines.map((line, i) => (
      {series: [3 * i + 2, 3 * i + 1], fill: faded(palette[line.colour], line.dash ? 0.12 : 0.22)}
    )),
    axes: [
      {...axis, space: 64 * scale, size: 44 * scale, gap: 5 * scale, values: spec.labels ?? timeLabels(spec.zone), splits: spec.splits},
      {...axis, values: amountLabels, gap: 4 * scale, space: 30 * scale,
        size: (_, labels) => scale * (18 + 7 * Math.max(2, ...(labels ?? []).map(label => label.length)))},
    ],
    hooks: {
      setCursor: [plot => spec.hover?.(plot.cursor.idx, plot)],
      draw: [plot => spec.drawn?.(plot)],
      ready: [plot => spec.ready?.(plot)],
    },
  };
}

const columns = (spec) => [spec.x, ...spec.lines.flatMap(line => [line.low, line.high, line.value])];

/** A chart as a canvas `width` pixels wide, looking as one a `scale`th as wide: nothing need be on the page. */
export async function chartPicture(spec, [width, height], scale) {
  const frame = document.createElement('div');
  const at = {width: width / devicePixelRatio, height: height / devicePixelRatio};
  const plot = new uPlot(options(spec, at, scale / devicePixelRatio), columns(spec), frame);
  await new Promise(requestAnimationFrame);  // uPlot draws once the present task is over
  return plot.ctx.canvas;
}

/**
 * A chart in `element`, which fills its width, follows light and dark, and is drawn once it is visible.
 *
 * show({x, lines: [{value, low, high, colour: 'a' | 'b' | 'quiet' | 'ink', dash}], range, zone | labels + splits,
 * height, hover(index, plot), drawn(plot), ready(plot)}): x in seconds where there is a zone.
 */
export function chart(element) {
  let [plot, spec] = [null, null];
  const size = () => ({width: element.clientWidth, height: spec.height ?? 240});
  const draw = () => {
    plot?.destroy();
    plot = null;
    if (!spec || !element.clientWidth) return;
    plot = new uPlot(options(spec, size()), columns(spec), element);
  };
  new ResizeObserver(() => (plot && element.clientWidth ? plot.setSize(size()) : plot || draw())).observe(element);
  scheme.addEventListener('change', draw);
  return {
    show(next) { spec = next; draw(); },
    clear() { spec = null; draw(); },
    get plot() { return plot; },
  };
}

const MOVES = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1};

/**
 * Let arrow keys read a chart: a slider whose value, in words, is the point under the cursor.
 *
 * over({count, page, label, text(index)}) says what is read; moved(index, from, shift) is told of every move.
 */
export function readable(element, moved) {
  let [at, read] = [0, null];
  element.tabIndex = 0;
  element.setAttribute('role', 'slider');
  const say = () => {
    element.setAttribute('aria-valuenow', at);
    element.setAttribute('aria-valuetext', read.text(at));
  };
  element.addEventListener('keydown', (event) => {
    if (!read || event.altKey || event.ctrlKey || event.metaKey) return;
    const {key} = event;
    const steps = {Home: -at, End: read.count - 1 - at, PageDown: -read.page, PageUp: read.page, ...MOVES}[key];
    if (steps === undefined) return;
    event.preventDefault();
    const from = at;
    at = Math.min(Math.max(at + steps, 0), read.count - 1);
    say();
    moved(at, from, event.shiftKey);
  });
  return {
    over(next) {
      read = next;
      at = Math.min(at, read.count - 1);
      element.setAttribute('aria-valuemin', 0);
      element.setAttribute('aria-valuemax', read.count - 1);
      element.setAttribute('aria-label', read.label);
      say();
    },
    get at() { return at; },
  };
}

/** Put uPlot's cursor on a point, as if the pointer were there. */
export function pointAt(plot, index) {
  plot?.setCursor({left: plot.valToPos(plot.data[0][index], 'x'), top: 0});
}
