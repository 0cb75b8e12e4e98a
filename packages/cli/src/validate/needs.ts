import type { Manifest } from "@openenv-ts/providers/manifest";

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
const ORACLE =
  "needs an oracle that validators can play, so declaring `validation.capabilities.oracle` is not enough: OpenEnv " +
  "has to define first how one is played, and RFC 008 defines its form and its location only";
const CANARIES =
  "needs canary episodes that validators can read, so declaring `validation.capabilities.canaries` is not enough: " +
  "OpenEnv has to define first what the file holds";
const RUBRICS =
  "needs rubrics that a server shows, so declaring `validation.capabilities.rubric_tree` is not enough: the protocol " +
  "of OpenEnv has to get a message for them first";
const RECORD =
  "needs a record of the episode that the server keeps: the protocol of OpenEnv has to get a message for it first, " +
  "and a package has nothing to declare";
export const LEFT_OUT = "it was left out";

const NEEDS = new Map<string, [need: string, isDeclared: IsDeclared]>([
  ["runtime.network_policy", [CONTAINER, inContainer]],
  ["runtime.host_containment", [CONTAINER, inContainer]],
  ["runtime.resource_bounds", [CONTAINER, inContainer]],
  ["semantic.verifier_portability", [CONTAINER, inContainer]],
  ["semantic.resource_envelope", [CONTAINER, inContainer]],
  ["runtime.oracle_containment", [ORACLE, withOracle]],
  ["semantic.oracle_max", [ORACLE, withOracle]],
  ["semantic.floor_gap", [ORACLE, withOracle]],
  ["semantic.no_solution_leakage", [ORACLE, withOracle]],
  ["semantic.canary_floor", [CANARIES, withCanaries]],
  ["runtime.rubric_introspectable", [RUBRICS, withRubrics]],
  ["runtime.reward_attribution", [RUBRICS, withRubrics]],
  ["runtime.trajectory_record", [RECORD, () => false]],
]);

/** What the check needs beyond a running server; undefined where that is enough. */
export function findNeed(id: string, validation: Validation): Need | undefined {
  const known = NEEDS.get(id);
  if (known === undefined) return undefined;
  const [need, isDeclared] = known;
  const declared = isDeclared(validation);
  return { reason: declared && need === CONTAINER ? LEFT_OUT : need, declared };
}
