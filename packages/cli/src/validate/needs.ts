import type { Manifest } from "@openenv-ts/providers/manifest";

type Validation = NonNullable<Manifest["validation"]>;

/** What a skipped check of the policy requires. */
export interface Need {
  reason: string;
  /** The package declares it, so that skipping the check is a warning. */
  declared: boolean;
}

type IsDeclared = (validation: Validation) => boolean;

const inContainer: IsDeclared = ({ execution }) => execution !== undefined;
const withOracle: IsDeclared = ({ capabilities }) => capabilities.oracle !== undefined;
const withCanaries: IsDeclared = ({ capabilities }) => capabilities.canaries !== undefined;
const withRubrics: IsDeclared = ({ capabilities }) => capabilities.rubric_tree;

const CONTAINER = "needs a block `validation.execution` in openenv.yaml, and a Docker engine";
const ORACLE = "needs an oracle: declare `validation.capabilities.oracle`";
const CANARIES = "needs recorded episodes: declare `validation.capabilities.canaries`";
const RUBRICS =
  "needs a server that publishes its rubrics. Declaring `validation.capabilities.rubric_tree` is not enough: the " +
  "protocol of OpenEnv has no message for them";
const RECORD =
  "needs a record of the episode that the server keeps: the protocol of OpenEnv has no message for it, and a package " +
  "cannot declare it";
/** A package that declares these has what the check needs. */
const DECLARABLE = [CONTAINER, ORACLE, CANARIES];
export const LEFT_OUT = "the check was excluded";

const NEEDS = new Map<string, [need: string, isDeclared: IsDeclared]>([
  ["runtime.network_policy", [CONTAINER, inContainer]],
  ["runtime.host_containment", [CONTAINER, inContainer]],
  ["runtime.resource_bounds", [CONTAINER, inContainer]],
  ["semantic.verifier_portability", [CONTAINER, inContainer]],
  ["semantic.resource_envelope", [CONTAINER, inContainer]],
  ["runtime.oracle_containment", [ORACLE, withOracle]],
  ["semantic.trivial_floor", [ORACLE, withOracle]],
  ["semantic.adversary", ["needs a search: --adversary", () => false]],
  ["semantic.oracle_max", [ORACLE, withOracle]],
  ["semantic.floor_gap", [ORACLE, withOracle]],
  ["semantic.no_solution_leakage", [ORACLE, withOracle]],
  ["semantic.canary_floor", [CANARIES, withCanaries]],
  ["runtime.rubric_introspectable", [RUBRICS, withRubrics]],
  ["runtime.reward_attribution", [RUBRICS, withRubrics]],
  ["runtime.trajectory_record", [RECORD, () => false]],
]);

/** What the check requires beyond a running server; undefined when nothing more is required. */
export function findNeed(id: string, validation: Validation): Need | undefined {
  const known = NEEDS.get(id);
  if (known === undefined) return undefined;
  const [need, isDeclared] = known;
  const declared = isDeclared(validation);
  return { reason: declared && DECLARABLE.includes(need) ? LEFT_OUT : need, declared };
}
