import { type ComponentType, useEffect, useState } from "react";
import { Boundary } from "./boundary.js";
import { Loading } from "./loading.js";

/** Where a component comes from, and the component once it has come. */
interface Source<Props> {
  what: string;
  load(): Promise<{ default: ComponentType<Props> }>;
  Component: ComponentType<Props> | undefined;
}

/**
 * A component that is loaded when it is first shown; when that fails, its place says so. Without `Suspense`, which
 * holds back what has come for a third of a second.
 */
export function lazily<Props extends object>(what: string, load: Source<Props>["load"]): ComponentType<Props> {
  const source: Source<Props> = { what, load, Component: undefined };
  return function Lazily(props: Props) {
    return (
      <Boundary what={what}>
        <Part source={source} props={props} />
      </Boundary>
    );
  };
}

function Part<Props extends object>({ source, props }: { source: Source<Props>; props: Props }) {
  const { Component, what } = source;
  const [problem, setProblem] = useState<unknown>();
  const [, setLoaded] = useState(Component !== undefined);
  useEffect(() => {
    source.load().then(
      (module) => {
        source.Component = module.default;
        setLoaded(true);
      },
      (cause) => setProblem(new Error("It could not be loaded from the server.", { cause })),
    );
  }, [source]);
  if (problem !== undefined) throw problem;
  return Component ? <Component {...props} /> : <Loading what={what.toLowerCase()} />;
}
