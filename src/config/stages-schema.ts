import { z } from 'zod';
import { count, key } from './fields.ts';

const NO_GPU = 'must be the number of a GPU, as nvidia-smi counts them, or its UUID ("GPU-...")';

const gpu = () =>
  z.union([z.int().min(0).max(1_023), z.string().regex(/^(GPU|MIG)-[0-9A-Za-z/-]{1,100}$/, NO_GPU)], { error: NO_GPU });

/** One set of hardware, and how much of it the models that are awake may take together. */
export const StageSchema = z.strictObject({
  gpus: key(
    z.array(gpu()).min(1).max(64).optional(),
    'The GPUs of this stage, by number or UUID. Its engines see no others.',
    { examples: [[0], ['GPU-8a56a4bc-e184-1047-2617-c1ea7e9bdf06']], default_text: 'whatever engines find' },
  ),
  capacity_mib: key(
    count(1, 100_000_000).optional(),
    'How much GPU memory its models may take together, by `footprint.gpu_mib`.',
    { default_text: 'with `gpus`: what is free on them when catnap starts', examples: [24_000] },
  ),
  host_capacity_mib: key(
    count(1, 1_000_000_000).optional(),
    'For a stage without GPUs: how much main memory its models may take together, by `footprint.host_mib`.',
    { default_text: 'main memory is not counted', examples: [64_000] },
  ),
  head_room_mib: key(
    count(0, 100_000_000).optional(),
    'How much of the capacity is left free, for what sleeping engines keep and for what a footprint does not tell.',
    { default_text: '`512` for each GPU that is measured, else `0`' },
  ),
  slots: key(
    count(1, 1_000).optional(),
    'How many models may be awake at a time, whatever they take. In place of a capacity.',
    { default_text: '`1`, where no memory is counted' },
  ),
});

/** The name of a stage. It stands in metrics and messages. */
export const stageName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/,
      'must be 1 to 64 of A-Z a-z 0-9 _ . - and begin with a letter, a digit or _',
    );
