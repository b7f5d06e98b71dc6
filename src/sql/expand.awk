# expand.awk - the SQL fragments with each block between "--@each" and "--@end" repeated.
#
#     --@each @a@ @b@ = a1 b1; a2 b2           @a@ and @b@ stand for a1 and b1, then for a2 and b2
#
# A function behind the line "--@door" becomes fastclust_internal.NAME_inside.  By its name stands a door (pg/model/door.c),
# which keeps the context lines of what is inside from the user's errors.
/^--@each/ {
	head = substr($0, 9)
	inside = 1
	block = ""
	next
}
/^--@end/ {
	names = split(substr(head, 1, index(head, "=") - 1), name, " ")
	rows = split(substr(head, index(head, "=") + 1), row, ";")
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
/^--@door/ { door = 1; signature = ""; next }
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
{ print }
