import { z } from 'zod';
import { count, key, path, seconds } from './fields.ts';

/** How long engines may take, for models that say nothing else. */
export const engineTimes = {
  startup_timeout_secs: key(seconds(0.1).default(600), 'How long the start or the waking of a model may take.'),
  startup_stall_secs: key(seconds(0).default(300), 'A start that prints nothing for this long has failed. 0: never.'),
  probe_timeout_secs: key(
    seconds(0.01, 60).default(2),
    'How long one readiness probe may take. One that hangs counts as failed.',
  ),
  sleep_timeout_secs: key(
    seconds(0.1).default(120),
    'How long going to sleep may take before the engine is stopped instead.',
  ),
  wake_timeout_secs: key(
    seconds(0.1).default(120),
    'How long one step of waking may take. Loading weights again, which some levels need, may take `startup_timeout_secs`.',
  ),
  changed_answer: key(
    z.enum(['told', 'restart']).default('told'),
    'What it means when a model answers the short fixed question after a wake otherwise than before its sleep: a line in the log, or a wake that has failed. Rubbish always is one.',
  ),
  stop_grace_secs: key(
    seconds(0, 3_600).default(5),
    'How long an engine may take to end after SIGTERM, and again after the second one, before SIGKILL.',
  ),
  stop_timeout_secs: key(
    seconds(0.1).default(60),
    'How long a stop may take in all, with the proof that nothing is left.',
  ),
  stop_retry_secs: key(seconds(0.01).default(5), 'How soon a stop that could not be proven is tried again.'),
  stall_timeout_secs: key(
    seconds(0).default(60),
    'After how much silence, while it works on requests, an engine is asked for a sign of life. 0: never.',
  ),
  stall_probe_timeout_secs: key(
    seconds(0.1, 600).default(15),
    'How long that sign of life may take. Without it the engine is restarted.',
  ),
  connect_timeout_secs: key(seconds(0.01, 600).default(5), 'How long an engine may take to accept a connection.'),
  idle_timeout_secs: key(
    seconds(0).default(0),
    'For how long an engine may pause in the middle of an answer. 0: for ever; `stall_timeout_secs` still asks it for a sign of life.',
  ),
  total_timeout_secs: key(
    seconds(0).default(0),
    'How long one request may be served in all, from its turn to the last byte of its answer. 0: for ever.',
  ),
  response_timeout_secs: key(
    seconds(0.1).default(1_800),
    'How long an engine may take to begin its answer. One that does not stream begins when it is done.',
  ),
};

/** How often and how soon a failed engine is tried again. */
export const RestartSchema = z.strictObject({
  stable_after_secs: key(
    seconds(0).default(60),
    'An engine that was awake this long starts its count of failures afresh.',
  ),
  first_delay_secs: key(seconds(0).default(1), 'The pause after a failure. Each further failure doubles it.'),
  longest_delay_secs: key(seconds(0).default(60), 'The longest pause.'),
  crashes_before_giving_up: key(
    count(1, 100).default(3),
    'How many times in a row an engine may die awake before those who wait for it are told.',
  ),
});

/** How memory of GPUs is read. */
export const GpuSchema = z.strictObject({
  capacity_mib: key(
    count(1, 100_000_000).optional(),
    'How much GPU memory the models that are awake may take together, by their `footprint`. Leave out what sleeping engines and others keep.',
    { default_text: 'one model is awake at a time', examples: [22_000] },
  ),
  nvidia_smi_path: key(
    path().default('nvidia-smi'),
    "The nvidia-smi program. Without it a sleep is believed on the engine's word.",
  ),
  read_timeout_secs: key(
    seconds(0.1, 60).default(10),
    'How long one reading may take, before the driver counts as one that does not answer.',
  ),
  free_timeout_secs: key(
    seconds(0.1, 600).default(10),
    'How long memory may take to be free after an engine said that it sleeps, before the sleep has failed; and after one has ended, before the next is started all the same.',
  ),
});

/** Tools for sleep levels 3 and 4. */
export const CheckpointSchema = z.strictObject({
  criu_path: key(
    path().default('criu'),
    'The criu program. Level 4 needs version 4 or newer, as root or by `sudo -n`.',
  ),
  images_dir: key(
    path().default('/tmp/llmux-checkpoints'),
    'The folder that engines at level 4 are written to. It holds what their clients wrote, so it is closed to others; images of an earlier catnap are removed from it, but for what was kept (`keep_images`, `catnap checkpoint`).',
  ),
  images_max_mib: key(
    count(0, 1_073_741_824).default(0),
    'How much all images together may take. Others make room for a new one: those that only wait for a later start, then those that have slept the longest. An engine whose image would not fit all the same is stopped instead. 0: what the disk has.',
  ),
  keep_images: key(
    z.boolean().default(false),
    'Whether an engine that is on disk when catnap stops, or is killed, comes back from there at its next start. Its image, with what clients wrote, stays on disk for so long. Ends with the boot of the machine.',
  ),
  sleep_first: key(
    z.union([z.literal(2), z.literal('none')]).default(2),
    '`2`: an engine that can sleep at level 2 does so before it is written to disk, which makes its image small. `none`: it is written as it is.',
  ),
  cuda_driver: key(
    z.enum(['self', 'plugin']).default('self'),
    'Who empties the GPU before an engine is written to disk: catnap, as for level 3, or the CUDA plugin of criu.',
  ),
  cuda_plugin_dir: key(
    path().default('/usr/lib/criu/'),
    'The folder that holds `cuda_plugin.so`. Only read with `"cuda_driver": "plugin"`.',
  ),
  cuda_checkpoint_path: key(path().default('cuda-checkpoint'), 'The cuda-checkpoint program.'),
});
