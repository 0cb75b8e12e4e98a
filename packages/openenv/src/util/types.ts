/** The members of an object type; `unknown` where a schema declares none, so that it can be joined with others. */
export type Members<T> = T extends Record<string, never> ? unknown : T;

export type MaybePromise<T> = T | PromiseLike<T>;
