/** The members of an object type; `unknown` if a schema declares none, so that it can be intersected with others. */
export type Members<T> = T extends Record<string, never> ? unknown : T;

export type MaybePromise<T> = T | PromiseLike<T>;

/** A value now or later. Unlike {@link MaybePromise} it is a real promise, with `catch` and `finally`. */
export type Eventual<T> = T | Promise<T>;
