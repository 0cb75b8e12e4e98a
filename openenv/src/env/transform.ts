import type { Contract } from "./contract.js";
import type { Transition } from "./environment.js";

/** Changes what reset or step returned, before it is validated and sent. Sync, without side effects. */
export type Transform<C extends Contract = Contract> = (transition: Transition<C>) => Transition<C>;

/** One transform that applies the given ones in order. */
export function composeTransforms<C extends Contract>(...transforms: Transform<C>[]): Transform<C> {
  return (transition) => transforms.reduce((value, transform) => transform(value), transition);
}
