import type { WidgetProps } from "@rjsf/utils";
import type { ReactNode } from "react";
import { Button } from "../parts/button.js";
import { pictureOf } from "../parts/value/picture.js";
import { Picture } from "../parts/value/picture-view.js";

/** True when a field holds a picture as a data URL. */
export function isImageField({ contentMediaType }: WidgetProps["schema"]): boolean {
  return contentMediaType?.startsWith("image/") === true;
}

/** A picture from a file, or its text, which is the child element. */
export function ImageUpload({ children, ...props }: WidgetProps & { children: ReactNode }) {
  const { id, label, value, disabled, readonly, onChange, options } = props;
  const picture = typeof value === "string" ? pictureOf(value) : undefined;
  return (
    <div className="upload">
      {picture ? <Picture key={picture.src} {...picture} alt={label} /> : children}
      <div className="upload__acts">
        <label className="btn btn--sm">
          {picture ? "Choose another picture" : "Choose a picture"}
          <input
            type="file"
            className="sr"
            id={picture ? id : `${id}__file`}
            accept="image/*"
            disabled={disabled || readonly}
            onChange={({ target }) => {
              const [file] = target.files ?? [];
              if (file) void readDataUrl(file).then(onChange);
              target.value = "";
            }}
          />
        </label>
        {picture ? (
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
