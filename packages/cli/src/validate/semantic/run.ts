import { resolve } from "node:path";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { checker, compileActionCheck, offers } from "openenv-ts/internal";
import type { SchemaBody } from "openenv-ts/protocol";
import type { Check } from "openenv-ts/testing";
import { TIMEOUT_MS } from "../declarations.js";
import { BASIS } from "../replay.js";
import type { ServerChecking } from "../validate-options.js";
import { adversary, type Search } from "./adversary.js";
import { sampleActions } from "./agents.js";
import { canaryFloor } from "./canaries.js";
import { chooseCases, findTasks, oracleEpisodes, SEED, seedCase, tasksStart } from "./cases.js";
import { afterDone, floors, isolated, repeats, seedHonoured, wellFormed } from "./checks.js";
import { oracleContainment } from "./containment.js";
import { leakage } from "./leakage.js";
import { loadOracle } from "./oracle.js";
import { openSessions, type World } from "./world.js";

type Validation = NonNullable<Manifest["validation"]>;

/** What is known about the environment beyond its server. */
export interface SemanticOptions {
  schemas: Pick<SchemaBody, "action" | "tools">;
  /** The folder of the package and what it declares. */
  dir?: string | undefined;
  validation?: Validation | undefined;
  /** The file of the oracle, instead of the declared one. */
  oracle?: string | undefined;
  search?: Search | undefined;
  isRequested: boolean;
  /** Checks that were made before: without determinism, a semantic check has no meaning. */
  made: readonly Check[];
  logs?(): Promise<string>;
}

const DEFAULT_MARGIN = 0.1;
/** The number of replays with which the public standard measures a variance. */
const VARIANCE_REPLAYS = 20;
const SAMPLES = 4;

/** Checks whether the reward is honest, on a running server. @throws ConfigError for an oracle that cannot be loaded. */
export async function checkSemantics(
  url: string,
  checking: ServerChecking,
  { schemas, dir, validation, search, isRequested, made, logs = async () => "", ...given }: SemanticOptions,
): Promise<Check[]> {
  const { token, timeoutMs = TIMEOUT_MS, signal } = checking;
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const files = declaredFiles(dir, validation);
  const oracleFile = given.oracle ?? files.oracle;
  const oracle = oracleFile === undefined ? undefined : await loadOracle(oracleFile);
  const sessions = openSessions({ headers, timeoutMs, signal });
  try {
    const tasks = await findTasks(url, headers);
    const offered = offers.offeredActions(schemas);
    const check = await compileActionCheck(offered);
    const world: World = {
      url,
      other: checking.other === undefined ? undefined : String(checking.other),
      declared: declarations(validation, checking),
      offered,
      accepts: (action) => check(action).length === 0,
      options: checking.reset ?? {},
      plan: { one: seedCase(checking.seed ?? SEED), actions: checking.actions ?? sampleActions(offered, SAMPLES) },
      isRequested,
      cases: await chooseCases(tasks),
      oracle,
      session: sessions.session,
      played: [],
    };
    const subject = { world, solved: oracleEpisodes(world) };
    const secret = [files.oracle, files.canaries, files.verifier].filter((file) => file !== undefined);
    const [determinism, ...repeating] = repeats(subject) as [checker.CheckDefinition, ...checker.CheckDefinition[]];
    const basis = { failed: made.find(({ id, status }) => BASIS.includes(id) && status === "failed")?.id };
    const definitions = [
      tasksStart(world, tasks),
      guard(seedHonoured(subject), basis, true),
      guard(determinism, basis, true),
      ...[
        ...repeating,
        isolated(subject),
        ...floors(subject),
        afterDone(subject),
        canaryFloor(subject, files.canaries),
        leakage(subject, logs),
        oracleContainment(world, dir ?? "", dir === undefined ? [] : secret),
        adversary(subject, search),
      ].map((definition) => guard(definition, basis)),
      wellFormed(world),
    ];
    const { checks } = await checker.runChecks(url, definitions, checking.leaveOut);
    signal?.throwIfAborted();
    return checks;
  } finally {
    oracle?.close();
    await sessions.close();
  }
}

/** Skips a check while a check that it depends on has failed, and names that one. */
function guard(definition: checker.CheckDefinition, basis: { failed: string | undefined }, isBasis = false) {
  const run: checker.CheckDefinition["run"] = async (note) => {
    if (basis.failed !== undefined) throw new checker.CheckSkip(`${basis.failed} did not pass`);
    try {
      await definition.run(note);
    } catch (error) {
      const isFailure = isBasis && !(error instanceof checker.CheckSkip);
      // Without the oracle, each of the others would repeat its error.
      if (isFailure || error instanceof checker.CheckBroken) basis.failed = definition.id;
      throw error;
    }
  };
  return { ...definition, run };
}

function declarations(validation: Validation | undefined, { seeded, ignore = [] }: ServerChecking): World["declared"] {
  const { reward, capabilities } = validation ?? {};
  return {
    range: reward?.range,
    tolerance: reward?.oracle_tolerance ?? 0,
    margin: reward?.floor_margin ?? DEFAULT_MARGIN,
    variance: reward?.variance_tolerance ?? 0,
    replays: capabilities?.llm_judged ? VARIANCE_REPLAYS : 3,
    seeded,
    ignore,
  };
}

function declaredFiles(dir: string | undefined, validation: Validation | undefined) {
  const { oracle, canaries, verifier } = validation?.capabilities ?? {};
  const inside = (path: string | null | undefined): string | undefined =>
    dir === undefined || !path ? undefined : resolve(dir, path);
  // The standard names `injected_state`, but not how a validator injects it.
  const location = oracle?.form === "injected_state" ? undefined : oracle?.location;
  return { oracle: inside(location), canaries: inside(canaries), verifier: inside(verifier?.entry) };
}
