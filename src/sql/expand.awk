# expand.awk - the SQL fragments with each block between "--@each" and "--@end" repeated.
#
#     --@each                                  @vector@ stands for real[], double precision[], integer[], numeric[]
#     --@each @a@ @b@ = a1 b1; a2 b2           @a@ and @b@ stand for a1 and b1, then for a2 and b2
#
# With -v types="a;b": nothing but the blocks of @vector@, which stands for a and b: the same functions for other types.
#
# A function behind the line "--@door" becomes fastclust_internal.NAME_inside.  By its name stands a door (pg/model/door.c),
# which keeps the context lines of what is inside from the user's errors.
BEGIN { each_vector = "@vector@ = " (types != "" ? types : "real[];double_precision[];integer[];numeric[]") }
/^--@each/ {
	head = substr($0, 9)
	if (head !~ /=/)
		head = each_vector
	else if (types != "")
		head = "@none@ ="
	inside = 1
	block = ""
	next
}
/^--@end/ {
	split(head, side, "=")
	names = split(side[1], name, " ")
	rows = split(side[2], row, ";")
	for (i = 1; i <= rows; i++)
	{
		text = block
		split(row[i], value, " ")
		for (n = 1; n <= names; n++)
		{
			gsub("_precision", " precision", value[n])
			gsub(name[n], value[n], text)
		}
		printf "%s", text
	}
	inside = 0
	next
}
/^--@door/ && types == "" { door = 1; signature = ""; next }
door && /^    (LANGUAGE|AS) / {
	behind = signature
	sub(/FUNCTION (fastclust_internal\.)?/, "FUNCTION fastclust_internal.", behind)
	sub(/\(/, "_inside(", behind)
	properties = $0
	sub(/^ *(AS '[^']*', '[^']*' )?LANGUAGE [A-Za-z]+/, "", properties)
	sub(/( SET | AS |;).*/, "", properties)
	printf "%s    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C%s;\n%s%s\n", signature, properties, behind, $0
	door = 0
	next
}
door { signature = signature $0 "\n"; next }
inside { block = block $0 "\n"; next }
types == "" { print }
