import { eachModel } from './check.ts';

/** Every model fits on the hardware when it is alone there. */
export const footprintsFit = eachModel((name, model, { config }) => {
  const capacity = config.gpu.capacity_mib;
  if (!('footprint' in model) || model.footprint === undefined || capacity === undefined) return [];
  const needed = model.footprint.gpu_mib * model.replicas;
  if (needed <= capacity) return [];
  const together = model.replicas > 1 ? `, ${needed} for its ${model.replicas} replicas,` : '';
  return [
    {
      path: ['models', name, 'footprint', 'gpu_mib'],
      message: `is ${model.footprint.gpu_mib}${together} and gpu.capacity_mib is ${capacity}: the model could never be awake`,
      fix: 'Lower the footprint, with a smaller context for example, or raise the capacity to what the hardware has.',
      also: ['gpu', 'capacity_mib'],
    },
  ];
});

/** A footprint of which there is nothing to take. */
export const footprintUnused = eachModel((name, model, { config }) =>
  'footprint' in model && (model.footprint?.gpu_mib ?? 0) > 0 && config.gpu.capacity_mib === undefined
    ? [
        {
          path: ['models', name, 'footprint'],
          message: 'has no effect, since gpu.capacity_mib is not set: one model is awake at a time',
          fix: 'Set gpu.capacity_mib to the memory that models may take together.',
        },
      ]
    : [],
);
