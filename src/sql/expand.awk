# expand.awk - the SQL fragments with each block between "--@each" and "--@end" repeated
# for every type of vector: @vector@ stands for real[], double precision[], integer[], numeric[].
BEGIN { types = split("real[];double precision[];integer[];numeric[]", type, ";") }
/^--@each/ { inside = 1; block = ""; next }
/^--@end/ {
	for (i = 1; i <= types; i++)
	{
		text = block
		gsub(/@vector@/, type[i], text)
		printf "%s", text
	}
	inside = 0
	next
}
inside { block = block $0 "\n"; next }
{ print }
