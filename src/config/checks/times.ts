import { pathText, type Path } from '../place.ts';
import type { Config } from '../schema.ts';
import { eachModel, type Check, type CheckFinding } from './check.ts';

/** Seconds with the path they were written at. */
type Time = { readonly path: Path; readonly secs: number };

/** Times that contradict each other. */
export const impossibleTimes: Check = ({ config }) => {
  const { policy, restart } = config;
  return [
    ...below(
      { path: ['policy', 'min_active_secs'], secs: policy.min_active_secs },
      { path: ['policy', 'request_timeout_secs'], secs: policy.request_timeout_secs },
      'requests for other models would time out before one of them gets a turn',
    ),
    ...notAbove(
      { path: ['restart', 'first_delay_secs'], secs: restart.first_delay_secs },
      { path: ['restart', 'longest_delay_secs'], secs: restart.longest_delay_secs },
      'pauses only grow',
    ),
    ...notAbove(
      { path: ['header_timeout_secs'], secs: config.header_timeout_secs },
      { path: ['body_timeout_secs'], secs: config.body_timeout_secs },
      'the head is a part of the request',
    ),
    ...startHasTime(
      { path: ['probe_timeout_secs'], secs: config.probe_timeout_secs },
      { path: ['startup_timeout_secs'], secs: config.startup_timeout_secs },
    ),
    ...stopHasTime({ path: ['stop_grace_secs'], secs: config.stop_grace_secs }, config),
  ];
};

/** The same for models that have such times of their own. */
export const impossibleModelTimes = eachModel((name, model, { config, wrote }) => {
  if (!('probe_timeout_secs' in model)) return [];
  const time = (key: 'probe_timeout_secs' | 'startup_timeout_secs' | 'stop_grace_secs'): Time => {
    const own = ['models', name, key];
    return { path: wrote(own) ? own : [key], secs: model[key] };
  };
  const isOwn = ({ path }: Time): boolean => path.length > 1;
  const [probe, start, grace] = [time('probe_timeout_secs'), time('startup_timeout_secs'), time('stop_grace_secs')];
  return [
    ...(isOwn(probe) || isOwn(start) ? startHasTime(probe, start) : []),
    ...(isOwn(grace) ? stopHasTime(grace, config) : []),
  ];
});

/** Told at the time that is the model's own, when only one of the two is. */
function startHasTime(probe: Time, start: Time): readonly CheckFinding[] {
  if (probe.secs < start.secs) return [];
  const why = 'one probe would outlast the start';
  return [
    start.path.length > probe.path.length ? order(start, 'above', probe, why) : order(probe, 'below', start, why),
  ];
}

/** SIGTERM, grace, SIGTERM, grace, SIGKILL: all of it must fit. */
const stopHasTime = (grace: Time, { stop_timeout_secs }: Config): readonly CheckFinding[] =>
  2 * grace.secs < stop_timeout_secs
    ? []
    : [
        {
          path: grace.path,
          message: `is ${grace.secs}, and twice that does not fit into stop_timeout_secs (${stop_timeout_secs}): a stop would give up before SIGKILL`,
          fix: 'Lower it, or raise stop_timeout_secs.',
          also: ['stop_timeout_secs'],
        },
      ];

const below = (time: Time, limit: Time, why: string): readonly CheckFinding[] =>
  time.secs < limit.secs ? [] : [order(time, 'below', limit, why)];

const notAbove = (time: Time, limit: Time, why: string): readonly CheckFinding[] =>
  time.secs <= limit.secs ? [] : [order(time, 'at most', limit, why)];

const order = (time: Time, relation: 'above' | 'below' | 'at most', limit: Time, why: string): CheckFinding => ({
  path: time.path,
  message: `is ${time.secs}, and must be ${relation} ${pathText(limit.path)} (${limit.secs}): ${why}`,
  fix: relation === 'above' ? 'Raise it, or lower the other.' : 'Lower it, or raise the other.',
  also: limit.path,
});
