import { styleText } from 'node:util';
import pino from 'pino';
import type { Fact } from '../core/facts.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Crowds } from './crowds.ts';
import { wanted, type Level, type LogSettings, type Target } from './levels.ts';
import type { LogSink } from './log-sink.ts';
import { plain, plural } from './phrases.ts';
import { sentence } from './sentences.ts';

/** The log: a rendering of the facts, and of what the engines print when that is wanted. */
export interface Log extends Reporter {
  /** Whether lines of engines are shown at all; if not, nobody needs to read them. */
  readonly showsOutput: boolean;
  engineLine(model: ModelId, line: string): void;
}

type Line = {
  readonly target: Target;
  readonly level: Level;
  /** The kind of the fact, or what else the line is. */
  readonly fact: string;
  readonly text: string;
  readonly details: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
};

export function createLog(settings: LogSettings, sink: LogSink, clock: Clock): Log {
  const crowds = new Crowds();
  const render = settings.format === 'json' ? jsonLines(sink, clock) : humanLines(sink, clock, settings.colour);

  function write(line: Line): void {
    const lost = sink.takeLost();
    if (lost > 0) render(lostLines(lost));
    render(line);
  }

  function report(fact: Fact): void {
    const { target, level, text, details, fields, crowd } = sentence(fact);
    if (!wanted(settings.thresholds, target, level)) return;
    const held = crowd === undefined ? 0 : crowds.pass(crowd, clock.now());
    if (held === undefined) return;
    const more = held === 0 ? '' : ` (and ${held} more like it before)`;
    write({ target, level, fact: fact.kind, text: text() + more, details, fields });
  }

  const showsOutput = wanted(settings.thresholds, 'output', 'debug');
  return {
    report,
    showsOutput,
    engineLine(model, line) {
      if (!showsOutput) return;
      const text = `${model} | ${line}`;
      write({ target: 'output', level: 'debug', fact: 'engine-output', text, details: [], fields: { model, line } });
    },
  };
}

function lostLines(count: number): Line {
  const text = `${plural(count, 'log line')} lost: nobody read them in time`;
  return { target: 'app', level: 'warn', fact: 'log-lines-lost', text, details: [], fields: { count } };
}

/** One JSON object on a line, for programs. */
function jsonLines(sink: LogSink, clock: Clock): (line: Line) => void {
  const logger = pino(
    {
      base: null,
      level: 'debug',
      timestamp: () => `,"time":"${clock.wallTime().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: (fields) => rounded(fields) },
    },
    sink,
  );
  return ({ target, level, fact, text, fields }) => logger[level]({ target, fact, ...fields }, text);
}

/** Times are taken to the nanosecond; nobody wants to read more than the microseconds of them. */
function rounded<T>(value: T): T;
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toFixed(3));
  if (Array.isArray(value)) return value.map((item) => rounded(item));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, rounded(item)]));
}

const COLOURS = { error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const satisfies Record<Level, string>;

/** `12:04:05.123 info  beta is awake after 84 ms`, for people. */
function humanLines(sink: LogSink, clock: Clock, colour: boolean): (line: Line) => void {
  return ({ level, text, details }) => {
    const word = level.padEnd(5);
    const shown = colour ? styleText(COLOURS[level], word, { validateStream: false }) : word;
    const below = details.map((detail) => `             ${' '.repeat(5)} | ${plain(detail)}\n`);
    sink.write(`${timeOfDay(clock.wallTime())} ${shown} ${plain(text)}\n${below.join('')}`);
  };
}

function timeOfDay(time: Date): string {
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((value) => padded(value, 2)).join(':');
  return `${clock}.${padded(time.getMilliseconds(), 3)}`;
}

const padded = (value: number, length: number): string => String(value).padStart(length, '0');
