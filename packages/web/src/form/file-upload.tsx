import type { WidgetProps } from "@rjsf/utils";
import type { ReactNode } from "react";
import { Button } from "../parts/button.js";
import { formatBytes } from "../parts/text/format.js";
import { pictureOf } from "../parts/value/picture.js";
import { Picture } from "../parts/value/picture-view.js";

/** Base64 with more characters is not shown as text, because it is not edited by hand. */
const LONG_DATA = 200;

/** What a field takes from a file: a picture as a data URL, or bytes as base64. */
export function fileKindOf(schema: WidgetProps["schema"]): "picture" | "file" | undefined {
  if (schema.contentMediaType?.startsWith("image/")) return "picture";
  return schema.format === "binary" || schema.format === "base64" || schema.contentEncoding === "base64"
    ? "file"
    : undefined;
}

/** A value from a file, or its text, which is the child element. */
export function FileUpload({
  kind,
  children,
  ...props
}: WidgetProps & { kind: "picture" | "file"; children: ReactNode }) {
  const { id, label, value, disabled, readonly, onChange, options } = props;
  const text = typeof value === "string" ? value : "";
  const picture = kind === "picture" ? pictureOf(text) : undefined;
  const isData = kind === "file" && text.length > LONG_DATA;
  const chosen = picture !== undefined || isData;
  return (
    <div className="upload">
      {picture ? (
        <Picture key={picture.src} {...picture} alt={label} />
      ) : isData ? (
        <p className="upload__data">{formatBytes(Math.floor((text.replace(/=+$/, "").length * 3) / 4))}, as base64</p>
      ) : (
        children
      )}
      <div className="upload__acts">
        <label className="btn btn--sm">
          {chosen ? `Choose another ${kind}` : `Choose a ${kind}`}
          <input
            type="file"
            className="sr"
            id={chosen ? id : `${id}__file`}
            accept={kind === "picture" ? "image/*" : undefined}
            disabled={disabled || readonly}
            onChange={({ target }) => {
              const [file] = target.files ?? [];
              if (file)
                void readDataUrl(file).then((url) =>
                  onChange(kind === "picture" ? url : url.slice(url.indexOf(",") + 1)),
                );
              target.value = "";
            }}
          />
        </label>
        {chosen ? (
          <Button look="ghost sm" onClick={() => onChange(options.emptyValue)}>
            Remove
          </Button>
        ) : null}
      </div>
    </div>
  );
}

function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("The file could not be read."));
    reader.readAsDataURL(file);
  });
}
