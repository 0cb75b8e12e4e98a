/** What the schemas of an environment say, in terms that every language of a client has. */
export interface ClientTypes {
  action: Model;
  observation: Model;
  state: Model;
  /** Objects inside of those three and of the tools, each after the ones it is made of, where they do not go round. */
  models: Model[];
  tools: ToolType[];
}

/** A tool: the object that its arguments are, and what it returns. */
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
  /** What becomes of fields beside those. */
  extra: "allow" | "ignore" | "forbid";
}

export interface ModelField {
  /** As it is on the wire. */
  name: string;
  type: Type;
  required: boolean;
  /** There only where the schema has one. */
  default?: { value: unknown };
  description: string;
  limits: FieldLimits;
}

/** Bounds of a number, or of the length of a text or list. */
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
