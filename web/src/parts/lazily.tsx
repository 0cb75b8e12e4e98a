import { type ComponentType, lazy, Suspense } from "react";
import { Boundary } from "./boundary.js";
import { Loading } from "./loading.js";

/** A component that is loaded when it is first shown; when that fails, its place says so. */
export function lazily<Props extends object>(what: string, load: () => Promise<{ default: ComponentType<Props> }>) {
  const Lazy = lazy(load);
  // biome-ignore lint/correctness/noComponentHookFactories: made once, at the top of a module
  return function Lazily(props: Props) {
    return (
      <Boundary what={what}>
        <Suspense fallback={<Loading what={what.toLowerCase()} />}>
          <Lazy {...(props as Props & object)} />
        </Suspense>
      </Boundary>
    );
  };
}
