/** The schemas of an environment in a form that is independent of the client's language. */
export interface ClientTypes {
  action: Model;
  observation: Model;
  state: Model;
  /** Nested objects of these three and of the tools, each after its dependencies unless they are circular. */
  models: Model[];
  tools: ToolType[];
}

/** A tool: its arguments as an object, and its result. */
export interface ToolType {
  name: string;
  description: string;
  input: Model;
  output: Type;
}

/** An object. */
export interface Model {
  name: string;
  description: string;
  fields: ModelField[];
  /** What happens to undeclared fields. */
  extra: "allow" | "ignore" | "forbid";
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

export type Type =
  | { kind: "any" | "null" | "boolean" | "integer" | "number" | "string" }
  | { kind: "format"; format: "date-time" | "date" | "uuid" }
  | { kind: "literal"; values: Scalar[] }
  | { kind: "list"; items: Type }
  | { kind: "tuple"; items: Type[] }
  | { kind: "map"; values: Type }
  | { kind: "union"; members: Type[] }
  | { kind: "model"; name: string };
