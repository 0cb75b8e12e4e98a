import type { PreferencePair } from "openenv-ts/protocol";
import { useEffect, useState } from "react";
import { Button } from "../../parts/button.js";
import { ask } from "../../server/get.js";
import { useReadOnly } from "../../server/use-read-only.js";

interface PairList {
  pairs: PreferencePair[];
}

/** Saves one of two episodes as preferred to the other, for `openenv rollouts export --pairs`. */
export function Prefer({ a, b, onProblem }: { a: string; b: string; onProblem(text: string | undefined): void }) {
  const [chosen, setChosen] = useState<string>();
  const readOnly = useReadOnly();
  const path = (id: string): string => `/rollouts/${encodeURIComponent(id)}/pairs`;
  const read = ({ pairs }: PairList): void =>
    setChosen(pairs.find((pair) => [a, b].every((id) => id === pair.chosen || id === pair.rejected))?.chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the episodes decide what is read
  useEffect(() => {
    const controller = new AbortController();
    // The comparison has the same right, and shows why a request fails.
    ask<PairList>(path(a), { signal: controller.signal }).then(read, () => {});
    return () => controller.abort();
  }, [a, b]);
  const prefer = async (id: string, rejected: string): Promise<void> => {
    try {
      onProblem(undefined);
      read(await ask<PairList>(path(id), { body: { rejected } }));
    } catch (error) {
      onProblem((error as Error).message);
    }
  };
  if (a === b) return null;
  return [
    { name: "A", id: a, other: b },
    { name: "B", id: b, other: a },
  ].map(({ name, id, other }) => (
    <Button
      key={name}
      look="ghost sm"
      free={readOnly === undefined}
      title={readOnly}
      aria-pressed={chosen === id}
      onClick={() => void prefer(id, other)}
    >
      Prefer {name}
    </Button>
  ));
}
