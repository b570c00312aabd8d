import type { MayUse } from '../access/key.ts';
import { unknownModel } from '../core/unknown-model.ts';
import { refusalOf } from './admit.ts';
import type { Refusal } from './envelope.ts';
import type { Gate, Target } from './gate.ts';

type Names = { readonly inBody: string | undefined; readonly inQuery: string | undefined };

/** The one model that is meant by the name in the body and the one in the query, or why there is none. */
export function modelMeant(gate: Gate, { inBody, inQuery }: Names, mayUse: MayUse | undefined): Target | Refusal {
  const name = inBody ?? inQuery;
  if (name === undefined) return standIn(gate, mayUse);
  const target = lookUp(gate, name, mayUse);
  if ('code' in target || inBody === undefined || inQuery === undefined) return target;
  const other = lookUp(gate, inQuery, mayUse);
  if ('code' in other || other.model === target.model) return 'code' in other ? other : target;
  const message = `The body names ${inBody} and the query ${inQuery}. Name one model.`;
  return { code: 'duplicate_model', message, param: 'model' };
}

/** The model a name stands for, or why requests do not reach it. */
export function lookUp(gate: Gate, name: string, mayUse: MayUse | undefined): Target | Refusal {
  const target = gate.find(name, mayUse);
  if (target === undefined) {
    return { code: 'model_not_found', message: unknownModel(name), param: 'model' };
  }
  return servable(gate, target);
}

/** Whoever would be refused for who brings the model in is told before his body has come. */
function servable(gate: Gate, target: Target): Target | Refusal {
  const barred = gate.admission.barred(target.model);
  return barred === undefined ? target : { ...refusalOf(barred), param: 'model' };
}

/** The model for a request that names none. */
function standIn(gate: Gate, mayUse: MayUse | undefined): Target | Refusal {
  const target = gate.unnamed(mayUse);
  if (typeof target !== 'string') return servable(gate, target);
  const why = target === 'nobody' ? '' : ', and none is awake';
  const message =
    `The request names no model${why}. Put \`model\` in its JSON body, its form or its query. ` +
    'GET /v1/models lists the models.';
  return { code: 'model_missing', message, param: 'model' };
}
