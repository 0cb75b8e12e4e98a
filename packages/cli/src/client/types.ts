/** The schemas of an environment in a form that is independent of the client's language. */
export interface ClientTypes {
  action: Model;
  observation: Model;
  state: Model;
  /** Nested objects of these three and of the tools, each after its dependencies unless they are circular. */
  models: Model[];
  /** Recursive types that are not objects, such as a list of itself. */
  aliases: Alias[];
  tools: ToolType[];
}

/** A tool: its arguments as an object, and its result. */
export interface ToolType {
  name: string;
  description: string;
  input: Model;
  output: Type;
}

/** An object, or a union of objects: one class for each variant, and no fields. */
export interface Model {
  name: string;
  description: string;
  fields: ModelField[];
  /** What happens to undeclared fields. */
  extra: "allow" | "ignore" | "forbid";
  /** The type of undeclared fields that are allowed; any by default. */
  extraValues?: Type;
  /** The variants of an action, which may have several shapes. */
  variants?: Union;
  /** Names of fields that tell the variants of a union apart. They are always sent. */
  tags: Set<string>;
}

export interface Alias {
  name: string;
  type: Type;
}

export interface ModelField {
  /** The name on the wire. */
  name: string;
  type: Type;
  required: boolean;
  /** Present only if the schema has a default. */
  default?: { value: unknown };
  description: string;
  limits: FieldLimits;
}

/** Bounds of a number, or of the length of a string or list. */
export interface FieldLimits {
  ge?: number;
  gt?: number;
  le?: number;
  lt?: number;
  min_length?: number;
  max_length?: number;
}

export type Scalar = string | number | boolean | null;

/** Strings with a class in Python. A decimal may also be a number on the wire. */
export const FORMATS = ["date-time", "date", "time", "duration", "uuid", "binary", "decimal"] as const;

export type Format = (typeof FORMATS)[number];

export interface Union {
  kind: "union";
  members: Type[];
  /** The field that tells the members apart, if they are objects with such a field. */
  tag?: string;
}

export type Type =
  | { kind: "any" | "null" | "boolean" | "integer" | "number" | "string" }
  | { kind: "format"; format: Format }
  | { kind: "literal"; values: Scalar[] }
  | { kind: "list"; items: Type }
  | { kind: "tuple"; items: Type[] }
  | { kind: "map"; keys: Type; values: Type; isComplete: boolean }
  | { kind: "model" | "alias"; name: string }
  | Union;
