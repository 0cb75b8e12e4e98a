import type { Contract } from "../contract/contract.js";
import type { Transform } from "./environment.js";

export type { Transform } from "./environment.js";

/** Combines transforms into one that applies them in order. */
export function composeTransforms<C extends Contract>(...transforms: Transform<C>[]): Transform<C> {
  return (transition) => transforms.reduce((value, transform) => transform(value), transition);
}
