import { pathText, type Path } from '../place.ts';
import { eachModel, type Check, type CheckFinding } from './check.ts';

type Claim = { readonly port: number; readonly path: Path; readonly byDefault: boolean };

/** Every port is claimed once. */
export const portsClash: Check = ({ config, wrote }) => {
  const claims: Claim[] = [];
  const claim = (port: number, path: Path): void => {
    if (port !== 0) claims.push({ port, path, byDefault: !wrote(path) });
  };
  claim(config.port, ['port']);
  claim(config.metrics_port, ['metrics_port']);
  if (config.admin_port !== null) claim(config.admin_port, ['admin_port']);
  for (const [name, model] of Object.entries(config.models)) {
    if ('port' in model && model.port !== undefined) claim(model.port, ['models', name, 'port']);
  }
  const first = new Map<number, Claim>();
  const findings: CheckFinding[] = [];
  for (const later of claims) {
    const earlier = first.get(later.port);
    if (earlier === undefined) first.set(later.port, later);
    else findings.push(clash(earlier, later));
  }
  return findings;
};

/** Told at the end that somebody wrote. */
function clash(earlier: Claim, later: Claim): CheckFinding {
  const [at, other] = later.byDefault ? [earlier, later] : [later, earlier];
  return {
    path: at.path,
    message: `is ${at.port}, and so is ${pathText(other.path)}${other.byDefault ? ' by default' : ''}`,
    fix: 'Give one of them another port.',
    also: other.path,
  };
}

/** Nobody may ask for fewer than come by themselves. */
export const replicasFit = eachModel((name, model) =>
  model.replica_max < model.replicas
    ? [
        {
          path: ['models', name, 'replica_max'],
          message: `is ${model.replica_max}, and replicas is ${model.replicas}`,
          fix: 'Raise it, or leave it out.',
        },
      ]
    : [],
);

/** Replicas cannot share a port. */
export const replicasNeedPorts = eachModel((name, model) =>
  'port' in model && model.port !== undefined && model.replica_max > 1
    ? [
        {
          path: ['models', name, 'port'],
          message: `cannot serve ${model.replica_max} replicas`,
          fix: 'Leave it out: each replica then takes a free port.',
        },
      ]
    : [],
);
