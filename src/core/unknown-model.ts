/** Where the names of models are listed. */
type Lister = '/v1/models' | '/v1/admin/models';

const MOST_SHOWN = 200;

/** What anybody is told who names a model that is not there, or not there for him. */
export function unknownModel(name: string, lister: Lister = '/v1/models'): string {
  return `There is no model or alias ${JSON.stringify(name.slice(0, MOST_SHOWN))}. GET ${lister} lists them.`;
}
