import type { Manifest } from "../../manifest/schema.js";

type Validation = NonNullable<Manifest["validation"]>;

/** What a check of the policy needs that was not made. */
export interface Need {
  reason: string;
  /** The package declares it: it may expect the check, and the verdict is a warning. */
  declared: boolean;
}

type IsDeclared = (validation: Validation) => boolean;

const inContainer: IsDeclared = ({ execution }) => execution !== undefined;
const withOracle: IsDeclared = ({ capabilities }) => capabilities.oracle !== undefined;
const withCanaries: IsDeclared = ({ capabilities }) => capabilities.canaries !== undefined;
const withRubrics: IsDeclared = ({ capabilities }) => capabilities.rubric_tree;

const CONTAINER = "needs a block `validation.execution` in openenv.yaml, and a Docker engine";
const ORACLE = "needs `validation.capabilities.oracle` in openenv.yaml";
const CANARIES = "needs `validation.capabilities.canaries` in openenv.yaml";
const RUBRICS = "needs `validation.capabilities.rubric_tree` in openenv.yaml";
const RECORD = "needs a record of episodes that a package can declare; there is none";
/** Why it is not made where the package declares what it needs. */
const LIMITS = "the container runs with the declared limits; this version does not measure whether they hold";
const FORMAT = "this version does not make it: the policy does not define the format of what is declared";
export const LEFT_OUT = "it was left out";

const NEEDS = new Map<string, [need: string, isDeclared: IsDeclared, unmade: string]>([
  ["runtime.network_policy", [CONTAINER, inContainer, LEFT_OUT]],
  ["semantic.verifier_portability", [CONTAINER, inContainer, LEFT_OUT]],
  ["runtime.host_containment", [CONTAINER, inContainer, LIMITS]],
  ["runtime.resource_bounds", [CONTAINER, inContainer, LIMITS]],
  ["semantic.resource_envelope", [CONTAINER, inContainer, LIMITS]],
  ["runtime.oracle_containment", [ORACLE, withOracle, FORMAT]],
  ["semantic.oracle_max", [ORACLE, withOracle, FORMAT]],
  ["semantic.floor_gap", [ORACLE, withOracle, FORMAT]],
  ["semantic.no_solution_leakage", [ORACLE, withOracle, FORMAT]],
  ["semantic.canary_floor", [CANARIES, withCanaries, FORMAT]],
  ["runtime.rubric_introspectable", [RUBRICS, withRubrics, FORMAT]],
  ["runtime.reward_attribution", [RUBRICS, withRubrics, FORMAT]],
  ["runtime.trajectory_record", [RECORD, () => false, FORMAT]],
]);

/** What the check needs beyond a running server; undefined where that is enough. */
export function findNeed(id: string, validation: Validation): Need | undefined {
  const known = NEEDS.get(id);
  if (known === undefined) return undefined;
  const [need, isDeclared, unmade] = known;
  const declared = isDeclared(validation);
  return { reason: declared ? unmade : need, declared };
}
