export { Button } from "./button";
export { copyText } from "./copy";
export { Dialog } from "./dialog";
export { Check, Field, NumberField, Select, TextField } from "./field";
export * as format from "./format";
export { Icon, type IconName } from "./icon";
export { Meter, type Part } from "./meter";
export { Plot, type Series } from "./plot";
export { type Column, Table } from "./table";
