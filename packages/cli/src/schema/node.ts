import { jsonSchema } from "openenv-ts/internal";

export type SchemaNode = jsonSchema.Node;
export type SchemaVariant = jsonSchema.Variant;
export const { asList, asNode, covers, dereference, variantsOf } = jsonSchema;
