/** Types of the page: what the server answers (see serve's models) and what modules hand to each other. */

declare const uPlot: any;

/** Half-open: steps, or cells of an axis. */
type Span = [number, number];
type Point = [number, number];
type Ring = Point[];

/** A rectangle of cells, or polygons (each a ring and its holes) in the coordinates that the API takes. */
interface Area {
  x?: Span;
  y?: Span;
  polygons?: Ring[][];
  name?: string;
}

/** kWh, with the 95 % interval. */
interface Interval {
  value: number;
  low: number;
  high: number;
}

interface Answer extends Interval {
  standard_error: number;
}

interface Answers {
  value: number[];
  standard_error: number[];
  low: number[];
  high: number[];
}

interface Period {
  first: number;
  last: number;
  start: string;
  end: string;
}

interface QueryAnswer extends Answer {
  area: {cells: number; share: number};
  time: Period;
  share_of_map: number | null;
}

interface Series extends Answers {
  time: Period;
  every: number;
  first: number[];
  start: string[];
  area: {cells: number};
}

interface Day {
  minutes: number[];
  all: Answers;
  weekday: Answers | null;
  weekend: Answers | null;
}

interface Profile {
  timezone: string;
  day: Day | null;
  week: (Answers & {minutes: number[]}) | null;
}

interface Highest {
  time: Period;
  cells: (Answer & {x: number; y: number; place: Span})[];
}

/** All cells over a range of steps, row by row from the south-west. */
interface Slice {
  nx: number;
  ny: number;
  time: Span;
  value: Float32Array;
  error: Float32Array;
  low: Float32Array;
  high: Float32Array;
}

interface Axis {
  start: number;
  end: number;
  size: number;
  unit: string;
}

interface TimeAxis {
  start: string;
  end: string;
  step_seconds: number;
  steps: number;
}

interface AttackStatement {
  releases: string;
  rates: {question: string; worlds: string; loss: number; true_positive_rate: number}[];
}

interface Facts {
  id: string;
  title: string;
  publisher: string;
  published: string;
  private: boolean;
  units: string;
  axes: {x: Axis; y: Axis; time: TimeAxis};
  crs: string;
  lonlat: Point[][] | null;
  cell_metres: [number, number] | null;
  scale: {top: number; most: number};
  total: Answer;
  about_the_truth: boolean;
  error_bars: string;
  privacy: {
    epsilon: number;
    epsilon_accounted: number;
    unit: string;
    neighbours: string;
    promise: string;
    attack_statements: AttackStatement[];
    warnings: string[];
    not_covered: string[];
  };
  label_in_words: {heading: string; lines: string[]}[];
  label: Record<string, any>;
  cite: string;
  downloads: {format: string; description: string; name: string; bytes: number | null}[];
  together: string | null;
}

interface Brief {
  id: string;
  title: string;
}

/** What the page shows; see state.js. */
interface View {
  release: string | null;
  time: Span | null;
  period: Span | null;
  area: Area | null;
  other: {area: Area | null; period: Span | null} | null;
  tab: string;
  zone: string;
}

type Listener = (state: View, previous: View) => void;

interface Store {
  release: Facts | null;
  get(): View;
  set(patch: Partial<View>): void;
  fitted(area: Area): Area | null;
  subscribe(listener: Listener): () => void;
  open(facts: Facts): void;
}

/** A question; a time is a range of steps, or one text with two instants. */
interface Question {
  area?: Area | null;
  time?: Span | [string] | null;
  every?: number;
  timezone?: string;
  count?: number;
}

interface Api {
  use(id: string): void;
  releases(): Promise<{releases: Brief[]; together: string | null}>;
  facts(id?: string | null): Promise<Facts>;
  slice(time: Span): Promise<Slice>;
  query(question: Question): Promise<QueryAnswer>;
  series(question: Question): Promise<Series>;
  profile(question: Question): Promise<Profile>;
  highest(question: Question): Promise<Highest>;
  download(format: string): string;
  onTrouble(listener: (sentence: string | null) => void): void;
}

/** A part of the page: draws itself into an element and follows the store. */
type Mount<E extends HTMLElement = HTMLElement> = (element: E, store: Store, api: Api) => void;

type Columns = string[];
type Rows = (string | number | null)[][];
type Table = [Columns, Rows];

/** The map in pixels; see frame.js. */
interface Frame {
  facts: Facts;
  box: {x: number; y: number; w: number; h: number};
  nx: number;
  ny: number;
  width: number;
  height: number;
  pixel(cell: Point): Point;
  point(pixel: Point): Point;
}

/** A shape of the user's own file. */
interface Shape {
  kind: 'point' | 'line' | 'polygon';
  rings: Ring[];
  box: [Span, Span];
  name: string;
  area: Area | null;
}

/** Answers at many points, without their standard errors. */
interface Intervals {
  value: number[];
  low: number[];
  high: number[];
}

/** A line of a chart with its band. */
interface Line extends Intervals {
  colour: string;
  dash?: number[];
  name?: string;
}

/** The map's corners, or more points where it is bent, and how the world goes on beyond it; see frame.js. */
interface Lattice {
  rows: Point[][];
  across: number[];
  up: number[];
  area: number;
  bent: boolean;
}

/** How a panel asks and shows; see panel.js. */
interface Following<Q, A> {
  question(state: View): Q | null;
  ask(question: Q): Promise<A>;
  show(answer: A, question: Q): void;
  fail(sentence: string): void;
  wait?: number;
}

type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;
type Child = Node | string | false | null | undefined;

interface CurveQuestion {
  area: Area | null;
  zone: string;
  others: {area: Area | null} | null;
}

/** The page's colours by name, as canvases take them. */
type Theme = Record<'paper' | 'ink' | 'quiet' | 'line' | 'edge' | 'card' | 'released' | 'other', string>;

/** An area to outline. */
interface MarkedArea {
  area: Area;
  colour: string;
  name?: string;
  dash?: number[];
}

/** Everything that is drawn on the map; see paint.js. */
interface Scene {
  frame: Frame;
  layers: Record<'colours' | 'hatched', HTMLCanvasElement> | null;
  areas: MarkedArea[];
  shapes: Shape[];
  draft: (Area & {corners?: Ring}) | null;
  cell: Point | null;
}
