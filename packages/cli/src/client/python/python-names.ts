/**
 * A valid Python name for a field: not a keyword, a name of the module or an attribute of a pydantic class. If it differs
 * from the name on the wire, the field gets an alias.
 */
export function pythonField(name: string, used: ReadonlySet<string>): string {
  return pythonName(name, used, FIELDS);
}

/** A valid Python name for the method of a tool. */
export function pythonMethod(name: string, used: ReadonlySet<string>): string {
  return pythonName(name, used, WORDS);
}

function pythonName(name: string, used: ReadonlySet<string>, reserved: ReadonlySet<string>): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^_+/, "");
  const word = /^[A-Za-z]/.test(plain) ? plain : `field_${plain}`;
  let free = reserved.has(word) ? `${word}_` : word;
  for (let i = 2; used.has(free); i++) free = `${word}_${i}`;
  return free;
}

const split = (lines: string[]): string[] => lines.join(" ").split(" ");

const WORDS = new Set(
  split([
    "False None True and as assert async await break class continue def del elif else except finally for from global if",
    "import in is lambda nonlocal not or pass raise return try while with yield",
    "Annotated Any BaseModel ConfigDict Decimal Field Key Literal Time UUID bool bytes date datetime dict float int list",
    "str timedelta tuple",
  ]),
);
const FIELDS = new Set([
  ...WORDS,
  ...split([
    "construct copy dict from_orm json parse_file parse_obj parse_raw schema schema_json update_forward_refs validate",
    "model_computed_fields model_config model_construct model_copy model_dump model_dump_json model_extra model_fields",
    "model_fields_set model_json_schema model_parametrized_name model_post_init model_rebuild model_validate",
    "model_validate_json model_validate_strings",
  ]),
]);
